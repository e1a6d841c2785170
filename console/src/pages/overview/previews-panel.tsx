import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { previewListing } from '../../api/queries/previews.ts'
import { useReadList } from '../../api/use-read.ts'
import { walk } from '../../api/walk.ts'
import { Link } from '../../app/link.tsx'
import { useNow } from '../../app/now.ts'
import { countText, sumDecimals } from '../../format/decimal.ts'
import { utcDay } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Decimal, Money } from '../../parts/decimal.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import type { Sources } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { useWork, Work } from '../../parts/work.tsx'

type Preview = Schema<'InvoiceSummary'>

/** So many contracts are listed. */
const SHOWN = 10

/** What was added up, until the list is read again. */
interface AddedUp {
  previews: readonly Preview[]
  /** The second up to which usage counts. */
  asOf: number
  /** When the last page came, in milliseconds since 1970. */
  readAt: number
}

/** What the invoices of the running periods come to, by currency, and the contracts that somebody should look at. */
export function PreviewsPanel({ sources }: { sources: Sources | undefined }) {
  const client = useClient()
  const now = useNow()
  const list = useReadList(previewListing(client, {}))
  const [addedUp, setAddedUp] = useState<AddedUp>()
  const work = useWork(async (signal, onCount) => {
    // All pages have usage up to one second, whatever the time is when the last one is read.
    const previews = await walk(previewListing(client, { at: now, as_of: now }), { signal, onCount })
    signal.throwIfAborted()
    setAddedUp({ previews, asOf: now, readAt: Date.now() })
  })
  // Sums that are older than the list are not shown: the panel says how old the list is.
  const all = addedUp !== undefined && list.updatedAt <= addedUp.readAt ? addedUp : undefined
  return (
    <Panel heading="Invoices of the running periods" read={list}>
      {(first) =>
        first.length === 0 ? (
          <Empty>
            <p>
              <strong>No contract is in force now.</strong> A contract says what an account pays for its
              usage.{' '}
              <Link to="contracts" parameters={{}}>
                Contracts
              </Link>{' '}
              has a form for one.
            </p>
          </Empty>
        ) : (
          <>
            <Sums previews={all?.previews ?? first} sources={sources} />
            {list.hasMore && (
              <div className="table__more">
                {all === undefined ? (
                  `Added up are the first ${countText(first.length)} contracts, there are more.`
                ) : (
                  <span>
                    Added up are all {countText(all.previews.length)} contracts, as of{' '}
                    <Instant at={all.asOf} />.
                  </span>
                )}
                {!work.isRunning && (
                  <button type="button" className="button" onClick={() => work.start()}>
                    {all === undefined ? 'Add up all' : 'Add up again'}
                  </button>
                )}
                <Work work={work} doing="Reading previews:" counted="so far" />
              </div>
            )}
            <Contracts
              previews={all?.previews ?? first}
              hasMore={all === undefined && list.hasMore}
              sources={sources}
            />
          </>
        )
      }
    </Panel>
  )
}

interface Sum {
  currency: string
  contracts: number
  total: string
  credit: string
  due: string
}

function sumsOf(previews: readonly Preview[]): Sum[] {
  const currencies = [...new Set(previews.map(({ currency }) => currency))].sort()
  return currencies.map((currency) => {
    const own = previews.filter((preview) => preview.currency === currency)
    return {
      currency,
      contracts: own.length,
      total: sumDecimals(own.map(({ total }) => total)),
      credit: sumDecimals(own.map(({ credit_total: credit }) => credit)),
      due: sumDecimals(own.map(({ amount_due: due }) => due)),
    }
  })
}

function Sums({ previews, sources }: { previews: readonly Preview[]; sources: Sources | undefined }) {
  const money = (value: string, currency: string) => (
    <Money value={value} currency={currency} places={sources?.find(currency).places ?? null} />
  )
  return (
    <DataTable
      caption="Invoices by currency"
      columns={[
        { heading: 'Currency', cell: ({ currency }) => currency },
        {
          heading: 'Contracts',
          isNumber: true,
          cell: ({ contracts }) => <Decimal value={contracts.toString()} />,
        },
        { heading: 'Total', isNumber: true, cell: ({ total, currency }) => money(total, currency) },
        { heading: 'Credit', isNumber: true, cell: ({ credit, currency }) => money(credit, currency) },
        { heading: 'Due', isNumber: true, cell: ({ due, currency }) => money(due, currency) },
      ]}
      rows={sumsOf(previews)}
      keyOf={({ currency }) => currency}
    />
  )
}

const isNotable = ({ unrated, warnings }: Preview): boolean => unrated.length > 0 || warnings.length > 0

/** Those with usage that nothing prices, or with warnings, come first. */
function Contracts({
  previews,
  hasMore,
  sources,
}: {
  previews: readonly Preview[]
  hasMore: boolean
  sources: Sources | undefined
}) {
  const notable = previews.filter(isNotable)
  const shown = [...notable, ...previews.filter((preview) => !isNotable(preview))].slice(0, SHOWN)
  const nameOf = useAccountNames(shown.map(({ account_id: id }) => id))
  return (
    <>
      <h3 className="subheading">
        {shown.length} of {countText(previews.length)}
        {hasMore && ' and more'} contracts
        {notable.length > 0 && `, ${countText(notable.length)} of them to look at first`}
      </h3>
      <DataTable
        caption="Contracts"
        columns={columnsOf(nameOf, sources)}
        rows={shown}
        keyOf={({ contract_id: id }) => id}
      />
    </>
  )
}

const columnsOf = (nameOf: (id: string) => string, sources: Sources | undefined): Column<Preview>[] => [
  {
    heading: 'Account',
    cell: ({ account_id: accountId }) => (
      <Link to="account" parameters={{ accountId }}>
        <Name>{nameOf(accountId)}</Name>
      </Link>
    ),
  },
  {
    heading: 'Period, UTC',
    cell: ({ period }) => `${utcDay(period.start_at)} – ${utcDay(period.end_at - 1)}`,
  },
  {
    heading: 'To look at',
    cell: ({ unrated, warnings, status }) => (
      <>
        {unrated.length > 0 && <Chip tone="warn">usage without a price</Chip>}{' '}
        {[...new Set(warnings.map(({ code }) => code))].map((code) => (
          <Chip key={code} tone="warn">
            {WARNINGS[code]}
          </Chip>
        ))}{' '}
        {status !== 'active' && <Chip>{status}</Chip>}
      </>
    ),
  },
  {
    heading: 'Due',
    isNumber: true,
    cell: ({ amount_due: due, currency }) => (
      <Money value={due} currency={currency} places={sources?.find(currency).places ?? null} />
    ),
  },
]

const WARNINGS = {
  negative_quantity: 'quantity below 0',
  override_unused: 'override without a product',
} as const
