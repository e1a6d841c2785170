import '../pages.css'
import './contracts.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountReading } from '../../api/queries/accounts.ts'
import { contractListing } from '../../api/queries/contracts.ts'
import { useRead, useReadList } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { curlOf } from '../../format/curl.ts'
import { periodText } from '../../format/period.ts'
import { dayLabel } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Chip, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Name } from '../../parts/text.tsx'
import { contractName } from './names.ts'
import { NewContractDialog } from './new-contract-dialog.tsx'
import { toneOf } from './tones.ts'

type Contract = Schema<'ContractSummary'>

/** All contracts, or those of one account. */
export function ContractsPage() {
  const client = useClient()
  const [{ account: accountId }, change] = useUrlQuery()
  const [isMaking, setMaking] = useState(false)
  const query = accountId === undefined ? {} : { account_id: accountId }
  const list = useReadList(contractListing(client, query), { keepsEarlier: true })
  return (
    <>
      <PageHead heading="Contracts" />
      <Panel
        heading={headingOf(accountId, list.isEarlier)}
        read={list}
        tools={
          <>
            {accountId !== undefined && (
              <button type="button" className="button" onClick={() => change({ account: undefined })}>
                Show all
              </button>
            )}
            {client.may('write:all') && (
              <button type="button" className="button button--main" onClick={() => setMaking(true)}>
                New contract
              </button>
            )}
          </>
        }
      >
        {(contracts) => (
          <>
            {accountId !== undefined && !list.isEarlier && <OfAccount accountId={accountId} />}
            {contracts.length === 0 ? (
              <NoneYet accountId={accountId} />
            ) : (
              <ContractTable
                contracts={contracts}
                hasMore={list.hasMore}
                isFetchingMore={list.isFetchingMore}
                onMore={list.more}
              />
            )}
          </>
        )}
      </Panel>
      {isMaking && <NewContractDialog accountId={accountId} onClose={() => setMaking(false)} />}
    </>
  )
}

/** Rows of an earlier question are not said to be those of this one. */
function headingOf(accountId: string | undefined, isEarlier: boolean): string {
  if (isEarlier) return 'Contracts'
  return accountId === undefined ? 'All contracts' : 'Contracts of one account'
}

function OfAccount({ accountId }: { accountId: string }) {
  const { data } = useRead(accountReading(useClient(), accountId))
  return (
    <p>
      Those of{' '}
      <Link to="account" parameters={{ accountId }}>
        <Name>{data?.name ?? accountId}</Name>
      </Link>
      .
    </p>
  )
}

interface ContractTableProps {
  contracts: readonly Contract[]
  hasMore: boolean
  isFetchingMore: boolean
  onMore: () => void
}

function ContractTable({ contracts, ...paging }: ContractTableProps) {
  const nameOf = useAccountNames(contracts.map(({ account_id: id }) => id))
  return (
    <DataTable
      caption="Contracts, newest first"
      columns={columnsOf(nameOf)}
      rows={contracts}
      keyOf={({ id }) => id}
      {...paging}
    />
  )
}

const columnsOf = (nameOf: (accountId: string) => string): Column<Contract>[] => [
  {
    heading: 'Contract',
    cell: (contract) => (
      <Link to="contract" parameters={{ contractId: contract.id }}>
        <Name>{contractName(contract)}</Name>
      </Link>
    ),
  },
  {
    heading: 'Account',
    cell: ({ account_id: accountId }) => (
      <Link to="account" parameters={{ accountId }}>
        <Name>{nameOf(accountId)}</Name>
      </Link>
    ),
  },
  { heading: 'Status', cell: ({ status }) => <Chip tone={toneOf(status)}>{status}</Chip> },
  { heading: 'Currency', cell: ({ currency }) => currency },
  { heading: 'Periods', cell: ({ cadence }) => cadence.replace('_', ' ') },
  { heading: 'From', cell: ({ starts_at: at }) => dayLabel(at, true) },
  { heading: 'Until', cell: (contract) => endOf(contract) },
  {
    heading: 'Current period',
    cell: ({ id, current_period: period }) =>
      period === null ? null : (
        <Link to="preview" parameters={{ contractId: id }}>
          {periodText(period.start_at, period.end_at)}
        </Link>
      ),
  },
]

function endOf({ ends_at: endsAt, cancellation }: Contract): string {
  if (cancellation !== null) return `${dayLabel(cancellation.cancel_at, true)}, canceled`
  return endsAt === null ? 'no end' : dayLabel(endsAt, true)
}

function NoneYet({ accountId }: { accountId: string | undefined }) {
  const { origin } = useClient()
  const request = {
    method: 'POST',
    target: '/v2/contracts',
    body: {
      account_id: accountId ?? 'account_…',
      currency: 'usd',
      cadence: 'month',
      lines: [{ rate_card_id: 'rate_card_…' }],
    },
  } as const
  return (
    <Empty>
      <p>
        <strong>No contract{accountId === undefined ? ' yet' : ''}.</strong> A contract says what an account
        pays, by which rate card, for which periods. It takes a{' '}
        <Link to="products" parameters={{}}>
          product with a price
        </Link>{' '}
        and a{' '}
        <Link to="rate-cards" parameters={{}}>
          rate card
        </Link>{' '}
        first. Make it here, or send this:
      </p>
      <Snippet text={curlOf(origin, request)} label="Copy this command" />
    </Empty>
  )
}
