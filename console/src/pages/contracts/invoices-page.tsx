import '../pages.css'
import './contracts.css'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { previewListing } from '../../api/queries/previews.ts'
import { useReadList } from '../../api/use-read.ts'
import { walk } from '../../api/walk.ts'
import { Link } from '../../app/link.tsx'
import { useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import type { CsvCell } from '../../format/csv.ts'
import { instantParameter, monthText, periodText, startOfMonth } from '../../format/period.ts'
import { instantText, parseInstant, utcDay } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Money } from '../../parts/decimal.tsx'
import { downloadCsv } from '../../parts/download.ts'
import { Instant } from '../../parts/instant.tsx'
import { Chip, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Notice } from '../../parts/problem.tsx'
import { Name } from '../../parts/text.tsx'
import { useWork, Work } from '../../parts/work.tsx'
import { EndedContracts } from './ended-contracts.tsx'
import { type Names, useNames } from './names.ts'
import { toneOf } from './tones.ts'

type Summary = Schema<'InvoiceSummary'>

/** The invoices of all contracts for the periods that contain a second. */
export function InvoicesPage() {
  const [{ at: typed }] = useUrlQuery()
  const at = typed === undefined ? undefined : parseInstant(typed)
  return (
    <>
      <PageHead heading="Invoice previews" />
      {typed !== undefined && at === undefined ? (
        <Notice tone="bad">
          In the address of this page, at is no time. Write it as 2026-01-31, in UTC.
        </Notice>
      ) : (
        <InvoicesAt at={at} />
      )}
    </>
  )
}

function InvoicesAt({ at }: { at: number | undefined }) {
  const client = useClient()
  const now = useNow()
  const names = useNames(client)
  const query = at === undefined ? {} : { at }
  const list = useReadList(previewListing(client, query), { keepsEarlier: true })
  return (
    <Panel
      heading={headingOf(at, list.isEarlier)}
      read={list}
      tools={<MonthSteps at={at ?? now} now={now} />}
    >
      {(invoices) => (
        <>
          {!list.isEarlier && <LeftOut at={at} />}
          {invoices.length === 0 ? (
            <NoneInForce at={at ?? now} />
          ) : (
            <>
              <Invoices
                invoices={invoices}
                names={names}
                hasMore={list.hasMore}
                isFetchingMore={list.isFetchingMore}
                onMore={list.more}
              />
              <AllAsCsv at={at} now={now} />
            </>
          )}
          <EndedContracts key={at ?? 'now'} at={at ?? now} />
        </>
      )}
    </Panel>
  )
}

/** The rows of another month are not said to be those of this one. */
function headingOf(at: number | undefined, isEarlier: boolean): string {
  if (isEarlier) return 'Periods'
  return at === undefined ? 'Running periods' : `Periods that contain ${utcDay(at)}`
}

/** Says what a list of one second cannot have. */
function LeftOut({ at }: { at: number | undefined }) {
  const second = at === undefined ? 'the present second' : `${instantText(at, 'utc')} UTC`
  return (
    <p className="soft">
      Only the periods that contain {second}, one of each contract. Left out: contracts that ended by then, or
      begin later; and other periods of a contract, such as the earlier days or weeks of a month.
    </p>
  )
}

/**
 * Goes a month back and forth. Of another month its last second is asked for, because contracts that begin within the
 * month are in force by then.
 */
function MonthSteps({ at, now }: { at: number; now: number }) {
  const [, change] = useUrlQuery()
  const go = (months: number) => () => {
    const start = startOfMonth(at, months)
    const isCurrent = start === startOfMonth(now)
    change({ at: isCurrent ? undefined : instantParameter(startOfMonth(start, 1) - 1) })
  }
  return (
    <>
      <button type="button" className="button" onClick={go(-1)}>
        ‹ {monthText(startOfMonth(at, -1))}
      </button>
      <strong>{monthText(at)}</strong>
      <button type="button" className="button" onClick={go(1)}>
        {monthText(startOfMonth(at, 1))} ›
      </button>
    </>
  )
}

function NoneInForce({ at }: { at: number }) {
  return (
    <Empty>
      <p>
        <strong>No contract in force on {utcDay(at)}.</strong> A contract says what an account pays: see the{' '}
        <Link to="contracts" parameters={{}}>
          contracts
        </Link>
        .
      </p>
    </Empty>
  )
}

interface InvoicesProps {
  invoices: readonly Summary[]
  names: Names
  hasMore: boolean
  isFetchingMore: boolean
  onMore: () => void
}

function Invoices({ invoices, names, ...paging }: InvoicesProps) {
  const nameOf = useAccountNames(invoices.map(({ account_id: id }) => id))
  return (
    <DataTable
      caption="Invoice previews"
      columns={columnsOf(names, nameOf)}
      rows={invoices}
      keyOf={({ contract_id: id }) => id}
      {...paging}
    />
  )
}

function columnsOf(names: Names, nameOf: (accountId: string) => string): Column<Summary>[] {
  const money = (heading: string, of: (summary: Summary) => string): Column<Summary> => ({
    heading,
    isNumber: true,
    cell: (summary) => (
      <Money
        value={of(summary)}
        currency={summary.currency}
        places={names.places(summary.currency) ?? null}
      />
    ),
  })
  return [
    {
      heading: 'Account',
      cell: ({ contract_id: contractId, account_id: accountId, period }) => (
        <Link to="preview" parameters={{ contractId }} query={{ at: instantParameter(period.start_at) }}>
          <Name>{nameOf(accountId)}</Name>
        </Link>
      ),
    },
    { heading: 'Period', cell: ({ period: { start_at: start, end_at: end } }) => periodText(start, end) },
    { heading: 'Contract', cell: ({ status }) => <Chip tone={toneOf(status)}>{status}</Chip> },
    money('Total', ({ total }) => total),
    money('Credit', ({ credit_total: credit }) => credit),
    money('Due', ({ amount_due: due }) => due),
    { heading: 'To look at', cell: (summary) => <ToLookAt summary={summary} /> },
    { heading: 'Usage as of', cell: ({ usage_as_of: at }) => <Instant at={at} /> },
  ]
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** What a person should look at before the invoice is used. */
function ToLookAt({ summary: { unrated, warnings } }: { summary: Summary }) {
  if (unrated.length === 0 && warnings.length === 0) return null
  return (
    <>
      {unrated.length > 0 && <Chip tone="warn">usage without a price</Chip>}{' '}
      {warnings.length > 0 && <Chip tone="warn">{counted(warnings.length, 'warning')}</Chip>}
    </>
  )
}

const HEADINGS = [
  'contract id',
  'account id',
  'status',
  'period from, UTC',
  'period to, UTC',
  'currency',
  'lines',
  'minimum adds',
  'total',
  'credit',
  'due',
  'not rated',
  'warnings',
  'usage as of, UTC',
]

/** Saves the previews of all contracts, page by page, because there may be many. */
function AllAsCsv({ at, now }: { at: number | undefined; now: number }) {
  const client = useClient()
  const work = useWork(async (signal, onCount) => {
    // All pages have usage up to one second, whatever the time is when the last one is read.
    const invoices = await walk(previewListing(client, { at: at ?? now, as_of: now }), { signal, onCount })
    signal.throwIfAborted()
    downloadCsv(`invoices-${utcDay(at ?? now)}.csv`, [HEADINGS, ...invoices.map(csvRow)])
  })
  return (
    <div className="accounts__csv">
      {!work.isRunning && (
        <button type="button" className="button" onClick={() => work.start()}>
          All of them as CSV
        </button>
      )}{' '}
      <span className="soft">The file has only these periods, too.</span>
      <Work work={work} doing="Reading the previews of all contracts:" counted="so far" />
    </div>
  )
}

const csvRow = (summary: Summary): CsvCell[] => [
  summary.contract_id,
  summary.account_id,
  summary.status,
  instantText(summary.period.start_at, 'utc'),
  instantText(summary.period.end_at, 'utc'),
  summary.currency,
  { number: summary.subtotal },
  { number: summary.minimum_adjustment },
  { number: summary.total },
  { number: summary.credit_total },
  { number: summary.amount_due },
  summary.unrated
    .map(({ quantity, metric_id: metric, currency }) => `${quantity} of ${metric ?? currency ?? ''}`)
    .join(', '),
  summary.warnings.map(({ code }) => code).join(', '),
  instantText(summary.usage_as_of, 'utc'),
]
