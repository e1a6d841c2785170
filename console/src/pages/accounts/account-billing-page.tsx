import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { contractListing } from '../../api/queries/contracts.ts'
import { useReadList } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { curlOf } from '../../format/curl.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Name } from '../../parts/text.tsx'
import { AccountFrame } from './account-frame.tsx'
import { ContractPreview } from './contract-preview.tsx'

type Contract = Schema<'ContractSummary'>

/** The contracts of an account, and what the present period of each comes to. */
export function AccountBillingPage({ parameters: { accountId } }: { parameters: { accountId: string } }) {
  return (
    <AccountFrame accountId={accountId} tab="account-billing">
      {() => <Contracts accountId={accountId} />}
    </AccountFrame>
  )
}

/** So many previews are computed by themselves: those of the newest contracts. */
const PREVIEWS_MAX = 5

function Contracts({ accountId }: { accountId: string }) {
  const list = useReadList(contractListing(useClient(), { account_id: accountId }))
  const contracts = list.data ?? []
  const previewed = contracts.slice(0, PREVIEWS_MAX)
  return (
    <div className="columns">
      <Panel heading="Contracts" read={list}>
        {(rows) =>
          rows.length === 0 ? (
            <NoContract accountId={accountId} />
          ) : (
            <DataTable
              caption="Contracts, newest first"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ id }) => id}
              hasMore={list.hasMore}
              isFetchingMore={list.isFetchingMore}
              onMore={list.more}
            />
          )
        }
      </Panel>
      {previewed.map((contract) => (
        <ContractPreview key={contract.id} contract={contract} />
      ))}
      {contracts.length > previewed.length && (
        <p className="soft">
          The previews are those of the {PREVIEWS_MAX} newest of {contracts.length}
          {list.hasMore && ' and more'} contracts.
        </p>
      )}
    </div>
  )
}

function NoContract({ accountId }: { accountId: string }) {
  const { origin } = useClient()
  const body = { account_id: accountId, currency: 'usd', cadence: 'month' }
  return (
    <Empty>
      <p>
        <strong>No contract.</strong> A contract says by which rate card, prices and periods the usage of an
        account is billed. Without one there is no invoice preview.
      </p>
      <p>
        Make one on the page{' '}
        <Link to="contracts" parameters={{}} query={{ account: accountId }}>
          Contracts
        </Link>
        . Or send this, which makes one without lines. Each of its lines follows a rate card or charges a
        price:
      </p>
      <Snippet
        text={curlOf(origin, { method: 'POST', target: '/v2/contracts', body })}
        label="Copy this command"
      />
    </Empty>
  )
}

const TONES = { scheduled: 'warn', active: 'good', canceled: 'plain', ended: 'plain' } as const
const CADENCES = {
  day: 'day',
  week: 'week',
  month: 'month',
  quarter: 'quarter',
  half_year: 'half year',
  year: 'year',
} as const

const COLUMNS: readonly Column<Contract>[] = [
  {
    heading: 'Contract',
    cell: ({ id, name }) => (
      <>
        <Link to="contract" parameters={{ contractId: id }}>
          <Name>{name ?? 'no name'}</Name>
        </Link>{' '}
        <Id value={id} />
      </>
    ),
  },
  {
    heading: 'External id',
    cell: ({ external_id: id }) => (id === undefined ? null : <Id value={id} />),
  },
  { heading: 'Status', cell: ({ status }) => <Chip tone={TONES[status]}>{status}</Chip> },
  { heading: 'Bills', cell: ({ currency, cadence }) => `${currency}, each ${CADENCES[cadence]}` },
  { heading: 'From', cell: ({ starts_at: at }) => <Instant at={at} /> },
  {
    heading: 'Until',
    cell: ({ ends_at: endsAt, cancellation }) => {
      const at = cancellation?.cancel_at ?? endsAt
      return at === null ? 'no end' : <Instant at={at} />
    },
  },
]
