import '../pages.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { customerReading } from '../../api/queries/accounts.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Fact, PageHead } from '../../parts/page.tsx'
import { TrailLink } from '../../parts/trail-link.tsx'
import { Unread } from '../../parts/unread.tsx'
import { AccountsPanel } from './accounts-panel.tsx'
import { CustomerDialog } from './customer-dialog.tsx'

/** A customer: its fields, and its accounts with their balances. */
export function CustomerPage({ parameters: { customerId } }: { parameters: { customerId: string } }) {
  const client = useClient()
  const [isChanging, setChanging] = useState(false)
  const { data: customer, error, again } = useRead(customerReading(client, customerId))
  return (
    <>
      <PageHead
        heading={customer?.name ?? 'Customer'}
        crumbs={
          <Link to="customers" parameters={{}}>
            Customers
          </Link>
        }
      >
        {customer !== undefined && <Facts customer={customer} />}
        <TrailLink resourceId={customerId} />
      </PageHead>
      <Unread read={{ error, again }} kind="customer" id={customerId} />
      {customer !== undefined && (
        <div className="columns">
          {client.may('write:all') && (
            <div className="row-actions">
              <button type="button" className="button" onClick={() => setChanging(true)}>
                Change
              </button>
            </div>
          )}
          <AccountsPanel key={customer.id} customerId={customer.id} />
        </div>
      )}
      {customer !== undefined && isChanging && (
        <CustomerDialog customer={customer} onClose={() => setChanging(false)} />
      )}
    </>
  )
}

function Facts({ customer }: { customer: Schema<'Customer'> }) {
  const ids = [
    { name: 'external id', value: customer.external_id },
    { name: 'id at the payment provider', value: customer.payments_customer_id },
    { name: 'id in accounting', value: customer.accounting_customer_id },
    { name: 'id', value: customer.id },
  ]
  return (
    <>
      {ids.map(
        ({ name, value }) =>
          value !== undefined && (
            <Fact key={name} name={name}>
              <Id value={value} />
            </Fact>
          ),
      )}
      <Fact name="created">
        <Instant at={customer.created_at} />
      </Fact>
    </>
  )
}
