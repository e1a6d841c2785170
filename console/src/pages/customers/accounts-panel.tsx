import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountListing } from '../../api/queries/accounts.ts'
import { balancesReading } from '../../api/queries/balances.ts'
import { type Read, useRead, useReadList } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Select } from '../../parts/choice.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Chip } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'
import { chosenSource } from '../../parts/source-picker.tsx'
import { type Source, sourceIdOf, useSources } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'

/** The balances of so many accounts are read at once. */
const PAGE_ROWS = 100

/** The accounts of a customer, with the balance of one source. */
export function AccountsPanel({ customerId }: { customerId: string }) {
  const client = useClient()
  const [{ source: sourceId }, change] = useUrlQuery()
  const sources = useSources(client).data
  const source = chosenSource(sources, sourceId)
  const list = useReadList(accountListing(client, { sort: 'created_at', service_customer_id: customerId }))
  return (
    <Panel
      heading="Accounts"
      read={list}
      tools={
        sources !== undefined &&
        source !== undefined && (
          <Select
            label="Balance of"
            options={sources.list.map(({ id, label }) => ({ value: id, label }))}
            value={source.id}
            onChange={(value) => change({ source: value })}
          />
        )
      }
    >
      {(accounts) =>
        accounts.length === 0 ? (
          <Empty>
            <p>
              <strong>This customer has no account yet.</strong> To give it one, copy the id above into the
              field <em>Customer</em> of an account, when you make the account or change it.
            </p>
          </Empty>
        ) : (
          <>
            {pagesOf(accounts).map((page, index, { length }) => (
              <AccountPage
                key={page[0]?.id}
                accounts={page}
                source={source}
                {...(index === length - 1
                  ? {
                      hasMore: list.hasMore,
                      isFetchingMore: list.isFetchingMore,
                      onMore: list.more,
                      count: accounts.length,
                    }
                  : {})}
              />
            ))}
          </>
        )
      }
    </Panel>
  )
}

type Account = Schema<'Account'>

function pagesOf(accounts: readonly Account[]): (readonly Account[])[] {
  const count = Math.ceil(accounts.length / PAGE_ROWS)
  return Array.from({ length: count }, (_, page) => accounts.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS))
}

interface AccountPageProps {
  accounts: readonly Account[]
  source: Source | undefined
  hasMore?: boolean
  isFetchingMore?: boolean
  onMore?: () => void
  count?: number
}

function AccountPage({ accounts, source, ...paging }: AccountPageProps) {
  const balances = useRead(
    balancesReading(
      useClient(),
      accounts.map(({ id }) => id),
    ),
  )
  return (
    <>
      {balances.error !== null && <Problem error={balances.error} onAgain={balances.again} />}
      <DataTable
        caption="Accounts of the customer"
        columns={columnsOf(source, balances)}
        rows={accounts}
        keyOf={({ id }) => id}
        {...paging}
      />
    </>
  )
}

const columnsOf = (source: Source | undefined, balances: Read<Schema<'Balances'>>): Column<Account>[] => [
  {
    heading: 'Account',
    cell: ({ id, name, archived_at: archivedAt }) => (
      <>
        <Link to="account" parameters={{ accountId: id }} query={{ source: source?.id }}>
          <Name>{name}</Name>
        </Link>
        {archivedAt !== null && (
          <>
            {' '}
            <Chip>archived</Chip>
          </>
        )}
      </>
    ),
  },
  { heading: 'External id', cell: ({ external_id: id }) => id !== undefined && <Id value={id} /> },
  ...(source === undefined ? [] : [balanceColumn(source, balances)]),
]

function balanceColumn(source: Source, { data }: Read<Schema<'Balances'>>): Column<Account> {
  const balanceOf = ({ id }: Account) =>
    data?.data.find((balance) => balance.account_id === id && sourceIdOf(balance) === source.id)?.balance
  return {
    heading: `Balance, ${source.label}`,
    isNumber: true,
    numberOf: balanceOf,
    cell: (account) => {
      const balance = balanceOf(account)
      return balance === undefined ? '–' : <AmountOf value={balance} source={source} />
    },
  }
}
