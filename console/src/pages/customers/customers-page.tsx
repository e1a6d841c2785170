import '../pages.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { customerListing } from '../../api/queries/customers.ts'
import { useReadList } from '../../api/use-read.ts'
import { useSettled } from '../../app/effects.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { curlOf } from '../../format/curl.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { listHeading } from '../../parts/list-heading.ts'
import { PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Name } from '../../parts/text.tsx'
import { CustomerDialog } from './customer-dialog.tsx'

/** How long typing rests before Tally is asked. */
const SETTLE_MS = 150
const QUERY_MAX = 256

/** All customers, the newest first. */
export function CustomersPage() {
  const client = useClient()
  const [{ query: typed = '' }, change] = useUrlQuery()
  const [isMaking, setMaking] = useState(false)
  const query = useSettled(typed.trim(), SETTLE_MS)
  const list = useReadList(customerListing(client, query === '' ? {} : { query }), { keepsEarlier: true })
  return (
    <>
      <PageHead heading="Customers" />
      <input
        className="input accounts__search"
        type="search"
        aria-label="Search customers"
        placeholder="Name or external id"
        autoComplete="off"
        spellCheck={false}
        maxLength={QUERY_MAX}
        value={typed}
        onChange={({ target: { value } }) => change({ query: value === '' ? undefined : value })}
      />
      <Panel
        heading={listHeading('customers', query !== '', list.isEarlier)}
        read={list}
        tools={
          client.may('write:all') && (
            <button type="button" className="button button--main" onClick={() => setMaking(true)}>
              New customer
            </button>
          )
        }
      >
        {(customers) =>
          customers.length === 0 ? (
            <NoCustomer query={query} />
          ) : (
            <DataTable
              caption="Customers"
              isWide
              columns={COLUMNS}
              rows={customers}
              keyOf={({ id }) => id}
              hasMore={list.hasMore}
              isFetchingMore={list.isFetchingMore}
              onMore={list.more}
            />
          )
        }
      </Panel>
      {isMaking && <CustomerDialog customer={undefined} onClose={() => setMaking(false)} />}
    </>
  )
}

const COLUMNS: readonly Column<Schema<'Customer'>>[] = [
  {
    heading: 'Customer',
    cell: ({ id, name }) => (
      <Link to="customer" parameters={{ customerId: id }}>
        <Name>{name}</Name>
      </Link>
    ),
  },
  { heading: 'External id', cell: ({ external_id: id }) => id !== undefined && <Id value={id} /> },
  { heading: 'Created', cell: ({ created_at: at }) => <Instant at={at} /> },
]

function NoCustomer({ query }: { query: string }) {
  const { origin } = useClient()
  if (query !== '')
    return (
      <Empty>
        <p>
          <strong>
            Nothing found for “<Name>{query}</Name>”.
          </strong>{' '}
          The search looks for the text in names and external ids.
        </p>
      </Empty>
    )
  const body: Schema<'NewCustomer'> = { name: 'Acme Ltd', external_id: 'acme' }
  return (
    <Empty>
      <p>
        <strong>No customer yet.</strong> A customer is who pays, and may have several accounts. Usage needs
        no customer.
      </p>
      <p>Make one here, or send this:</p>
      <Snippet
        text={curlOf(origin, { method: 'POST', target: '/v2/customers', body })}
        label="Copy this command"
      />
    </Empty>
  )
}
