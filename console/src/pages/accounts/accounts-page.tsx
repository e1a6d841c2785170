import '../pages.css'
import { useState } from 'react'
import { type Client, useClient } from '../../api/client.ts'
import type { ReadQuery, Schema } from '../../api/contract.ts'
import { accountListing, customerReading } from '../../api/queries/accounts.ts'
import { balancesReading } from '../../api/queries/balances.ts'
import { useReadList, useReads } from '../../api/use-read.ts'
import { walk } from '../../api/walk.ts'
import { useSettled } from '../../app/effects.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import type { CsvCell } from '../../format/csv.ts'
import { curlOf } from '../../format/curl.ts'
import { instantText } from '../../format/time.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Select } from '../../parts/choice.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { downloadCsv } from '../../parts/download.ts'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { listHeading } from '../../parts/list-heading.ts'
import { Chip, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { type Source, sourceIdOf, type Sources, useSources } from '../../parts/sources.ts'
import { Name, Text } from '../../parts/text.tsx'
import { useWork, Work } from '../../parts/work.tsx'
import { AccountDialog } from './account-dialog.tsx'

type Account = Schema<'Account'>
type Filter = ReadQuery<'/v2/accounts'>

/** How long typing rests before Tally is asked. */
const SETTLE_MS = 150
const QUERY_MAX = 256

const ARCHIVED = [
  { value: '', label: 'All' },
  { value: 'no', label: 'Not archived' },
  { value: 'yes', label: 'Archived' },
]

const SORTS = [
  { value: 'created_at', label: 'Newest first' },
  { value: 'customer_name', label: 'By customer and name' },
]

/** All accounts, with the balance of one source. */
export function AccountsPage() {
  const client = useClient()
  const [{ sort, source: sourceId, query: typed = '', archived }, change] = useUrlQuery()
  const [isMaking, setMaking] = useState(false)
  const query = useSettled(typed.trim(), SETTLE_MS)
  const filter = filterOf(query, sort, archived)
  const list = useReadList(accountListing(client, filter), { keepsEarlier: true })
  const sources = useSources(client).data
  const source = chosenSource(sources, sourceId)
  return (
    <>
      <PageHead heading="Accounts" />
      <SearchField value={typed} onChange={(value) => change({ query: value === '' ? undefined : value })} />
      <Panel
        heading={listHeading('accounts', query !== '' || filter.is_archived !== undefined, list.isEarlier)}
        read={list}
        tools={
          <>
            <Select
              label="Order"
              isLabelHidden
              options={SORTS}
              value={sort ?? 'created_at'}
              onChange={(value) => change({ sort: value === 'created_at' ? undefined : value })}
            />
            <Select
              label="Archived"
              isLabelHidden
              options={ARCHIVED}
              value={archived ?? ''}
              onChange={(value) => change({ archived: value === '' ? undefined : value })}
            />
            {source !== undefined && sources !== undefined && (
              <Select
                label="Balance of"
                options={sources.list.map(({ id, label }) => ({ value: id, label }))}
                value={source.id}
                onChange={(value) => change({ source: value })}
              />
            )}
            {client.may('write:all') && (
              <button type="button" className="button button--main" onClick={() => setMaking(true)}>
                New account
              </button>
            )}
          </>
        }
      >
        {(accounts) =>
          accounts.length === 0 ? (
            <NoAccount filter={filter} />
          ) : (
            <AccountTable
              accounts={accounts}
              source={source}
              filter={filter}
              hasMore={list.hasMore}
              isFetchingMore={list.isFetchingMore}
              onMore={list.more}
            />
          )
        }
      </Panel>
      {isMaking && <AccountDialog account={undefined} onClose={() => setMaking(false)} />}
    </>
  )
}

function filterOf(query: string, sort: string | undefined, archived: string | undefined): Filter {
  return {
    sort: sort === 'customer_name' ? 'customer_name' : 'created_at',
    ...(query === '' ? {} : { query }),
    ...(archived === 'yes' || archived === 'no' ? { is_archived: archived === 'yes' } : {}),
  }
}

/** The source of the address, or the first one. */
function chosenSource(sources: Sources | undefined, id: string | undefined): Source | undefined {
  if (sources === undefined) return undefined
  return sources.list.find((source) => source.id === id) ?? sources.list.find((source) => !source.isArchived)
}

interface AccountTableProps {
  accounts: readonly Account[]
  source: Source | undefined
  filter: Filter
  hasMore: boolean
  isFetchingMore: boolean
  onMore: () => void
}

function AccountTable({ accounts, source, filter, ...paging }: AccountTableProps) {
  const client = useClient()
  const balances = useBalances(client, accounts, source)
  const customerIds = new Set(
    accounts.flatMap(({ service_customer_id: id }) => (id === undefined ? [] : [id])),
  )
  const customers = useReads(
    [...customerIds].map((id) => customerReading(client, id)),
    false,
  )
  const names = new Map(customers.data.map(({ id, name }) => [id, name]))
  return (
    <>
      {balances.error !== null && (
        <Problem about="The balances cannot be read" error={balances.error} onAgain={balances.again} />
      )}
      {customers.error !== null && (
        <Problem about="Some customers cannot be read" error={customers.error} onAgain={customers.again} />
      )}
      <DataTable
        caption="Accounts"
        columns={columnsOf(source, balances.bySource, names)}
        rows={accounts}
        keyOf={({ id }) => id}
        {...paging}
      />
      <AllAsCsv filter={filter} source={source} />
    </>
  )
}

const ROWS_OF_A_PAGE = 100

function idsByPage(accounts: readonly Account[]): string[][] {
  const pages: string[][] = []
  for (let at = 0; at < accounts.length; at += ROWS_OF_A_PAGE)
    pages.push(accounts.slice(at, at + ROWS_OF_A_PAGE).map(({ id }) => id))
  return pages
}

const balancesOf = (answers: readonly Schema<'Balances'>[], source: Source): Map<string, string> =>
  new Map(
    answers
      .flatMap(({ data }) => data)
      .filter((balance) => sourceIdOf(balance) === source.id)
      .map(({ account_id: id, balance }) => [id, balance]),
  )

function useBalances(client: Client, accounts: readonly Account[], source: Source | undefined) {
  const pages = idsByPage(accounts)
  const reads = useReads(
    pages.map((ids) => balancesReading(client, ids)),
    pages.length <= 1,
  )
  const bySource = source === undefined ? new Map<string, string>() : balancesOf(reads.data, source)
  return { ...reads, bySource }
}

function columnsOf(
  source: Source | undefined,
  balances: ReadonlyMap<string, string>,
  customers: ReadonlyMap<string, string>,
): Column<Account>[] {
  return [
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
    { heading: 'External id', cell: ({ external_id: id }) => (id === undefined ? null : <Id value={id} />) },
    {
      heading: 'Customer',
      cell: ({ service_customer_id: id }) => {
        const name = id === undefined ? undefined : customers.get(id)
        return name === undefined ? null : <Text>{name}</Text>
      },
    },
    { heading: 'Created', cell: ({ created_at: at }) => <Instant at={at} /> },
    ...(source === undefined ? [] : [balanceColumn(source, balances)]),
  ]
}

const balanceColumn = (source: Source, balances: ReadonlyMap<string, string>): Column<Account> => ({
  heading: `Balance, ${source.label}`,
  isNumber: true,
  numberOf: ({ id }) => balances.get(id),
  cell: ({ id }) => {
    const balance = balances.get(id)
    return balance === undefined ? '–' : <AmountOf value={balance} source={source} />
  },
})

/** Saves all accounts, page by page, because a list of them may be long. */
function AllAsCsv({ filter, source }: { filter: Filter; source: Source | undefined }) {
  const client = useClient()
  const work = useWork(async (signal, onCount) => {
    const accounts = await walk(accountListing(client, filter), { signal, onCount })
    const answers: Schema<'Balances'>[] = []
    for (const ids of source === undefined ? [] : idsByPage(accounts))
      answers.push(await balancesReading(client, ids).fetch(signal))
    const balances = source === undefined ? undefined : balancesOf(answers, source)
    signal.throwIfAborted()
    downloadCsv('accounts.csv', [
      [...HEADINGS, ...(source === undefined ? [] : [`balance, ${source.label}`])],
      ...accounts.map((account) => csvRow(account, balances)),
    ])
  })
  return (
    <div className="accounts__csv">
      {!work.isRunning && (
        <button type="button" className="button" onClick={() => work.start()}>
          All of them as CSV
        </button>
      )}
      <Work work={work} doing="Reading all accounts:" counted="so far" />
    </div>
  )
}

const HEADINGS = ['id', 'external id', 'name', 'customer id', 'created at, UTC', 'archived at, UTC']

const csvRow = (account: Account, balances: ReadonlyMap<string, string> | undefined): CsvCell[] => [
  account.id,
  account.external_id ?? '',
  account.name,
  account.service_customer_id ?? '',
  instantText(account.created_at, 'utc'),
  account.archived_at === null ? '' : instantText(account.archived_at, 'utc'),
  ...(balances === undefined ? [] : [{ number: balances.get(account.id) ?? '' }]),
]

function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <input
      className="input accounts__search"
      type="search"
      aria-label="Search accounts"
      placeholder="Name, external id or customer"
      autoComplete="off"
      spellCheck={false}
      maxLength={QUERY_MAX}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

function NothingFound({ query }: { query: string }) {
  return (
    <Empty>
      <p>
        <strong>
          {query === '' ? (
            'There is no such account.'
          ) : (
            <>
              Nothing found for “<Name>{query}</Name>”.
            </>
          )}
        </strong>{' '}
        The search looks for the text in names, external ids and names of customers.
      </p>
    </Empty>
  )
}

function NoAccount({ filter: { query, is_archived: isArchived } }: { filter: Filter }) {
  if (query === undefined && isArchived === undefined) return <NoneYet />
  return <NothingFound query={query ?? ''} />
}

function NoneYet() {
  const { origin } = useClient()
  const request = { method: 'POST', target: '/v2/accounts', body: { name: 'Acme production' } } as const
  return (
    <Empty>
      <p>
        <strong>No account yet.</strong> An account is what usage and grants belong to: a customer&rsquo;s
        project, a user, a server.
      </p>
      <p>
        <Link to="start" parameters={{}}>
          First steps
        </Link>{' '}
        makes one and sends it an event. Or send this:
      </p>
      <Snippet text={curlOf(origin, request)} label="Copy this command" />
    </Empty>
  )
}
