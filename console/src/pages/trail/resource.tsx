import type { Schema } from '../../api/contract.ts'
import { Link } from '../../app/link.tsx'
import { Id } from '../../parts/id.tsx'

/** What an entry is about: its id, the way to its page if it has one, and to its own trail. */
export function Resource({ entry: { action, resource_id: id } }: { entry: Schema<'AuditEntry'> }) {
  return (
    <span className="row-actions">
      <Id value={id} />
      <PageOf kind={action.split('.')[0]} id={id} />
      <Link to="trail" parameters={{}} query={{ resource_id: id }}>
        its trail
      </Link>
    </span>
  )
}

function PageOf({ kind, id }: { kind: string | undefined; id: string }) {
  // A refill configuration is named by its account and its metric.
  const [accountId = '', metricId] = id.split('/')
  if (kind !== 'account' && kind !== 'refill_configuration') return null
  return (
    <Link to="account" parameters={{ accountId }} query={{ source: metricId }}>
      its page
    </Link>
  )
}
