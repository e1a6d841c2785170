import type { Schema } from '../../api/contract.ts'
import { Instant } from '../../parts/instant.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Name } from '../../parts/text.tsx'

interface SeenProps {
  /** The properties that the last events have. */
  seen: readonly string[]
  onChoose: (property: string) => void
}

/** Asks which property, and offers those that were seen. */
export function NoProperty(props: SeenProps) {
  return (
    <Empty>
      <p>
        <strong>Which property?</strong> Events carry properties, such as the model that was used. Choose one
        to see its values.
      </p>
      <Seen {...props} />
    </Empty>
  )
}

/** Says that no event has a property, and offers those that were seen. */
export function NoValue({
  property,
  from,
  to,
  ...props
}: SeenProps & { property: string; from: string; to: string }) {
  return (
    <Empty>
      <p>
        <strong>
          No event from {from} to {to} has <code>{property}</code>.
        </strong>{' '}
        A property that is a list, an object or an empty text counts as missing.
      </p>
      <Seen {...props} />
    </Empty>
  )
}

function Seen({ seen, onChoose }: SeenProps) {
  if (seen.length === 0) return <p>The last 100 events have no properties.</p>
  return (
    <>
      <p>In the last 100 events:</p>
      <p className="row-actions">
        {seen.map((name) => (
          <button
            key={name}
            type="button"
            className="button button--small input--mono"
            onClick={() => onChoose(name)}
          >
            <Name>{name}</Name>
          </button>
        ))}
      </p>
    </>
  )
}

/** Says that nothing was used, and where the newest event is. */
export function NoUsage({
  from,
  to,
  newest,
}: {
  from: string
  to: string
  newest: Schema<'UsageEvent'> | undefined
}) {
  return (
    <Empty>
      <p>
        <strong>
          Nothing was used from {from} to {to}.
        </strong>{' '}
        {newest === undefined ? (
          'Nothing was ever reported of it.'
        ) : (
          <>
            The event that was reported last occurred <Instant at={newest.occurred_at} />.
          </>
        )}
      </p>
    </Empty>
  )
}
