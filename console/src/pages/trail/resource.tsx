import type { Schema } from '../../api/contract.ts'
import { Link } from '../../app/link.tsx'
import { Id } from '../../parts/id.tsx'

/** What an entry is about: its id, the way to its page if it has one, and to its own trail. */
export function Resource({ entry: { action, resource_id: id } }: { entry: Schema<'AuditEntry'> }) {
  return (
    <span className="row-actions">
      <Id value={id} />
      <PageOf kind={action.split('.')[0] ?? ''} id={id} />
      <Link to="trail" parameters={{}} query={{ resource_id: id }}>
        its trail
      </Link>
    </span>
  )
}

function PageOf({ kind, id }: { kind: string; id: string }) {
  // A refill configuration is named by its account and its metric.
  const [accountId = '', metricId] = id.split('/')
  const children = 'its page'
  switch (kind) {
    case 'account':
    case 'refill_configuration':
      return (
        <Link to="account" parameters={{ accountId }} query={{ source: metricId }}>
          {children}
        </Link>
      )
    case 'customer':
      return <Link to="customer" parameters={{ customerId: id }} children={children} />
    case 'metric':
      return <Link to="metric" parameters={{ metricId: id }} children={children} />
    case 'contract':
      return <Link to="contract" parameters={{ contractId: id }} children={children} />
    case 'price':
      return <Link to="price" parameters={{ priceId: id }} children={children} />
    case 'rate_card':
      return <Link to="rate-card" parameters={{ rateCardId: id }} children={children} />
    default:
      return null
  }
}
