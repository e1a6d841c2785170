import './trail.css'
import { visibleText } from '../../format/visible-text.ts'
import { Instant } from '../../parts/instant.tsx'
import { Text } from '../../parts/text.tsx'

interface ChangesProps {
  /** Whether the request made the resource, so that nothing was there before. */
  isMade: boolean
  changes: Readonly<Record<string, unknown>>
}

/** The fields of a request, each with its name. They are what was sent, not what was there before. */
export function Changes({ isMade, changes }: ChangesProps) {
  const fields = Object.entries(changes)
  if (fields.length === 0) return <span className="soft">none</span>
  return (
    <ul className="changes">
      {fields.map(([name, value]) => (
        <li key={name}>
          <code>
            <bdi>{visibleText(name)}</bdi>
          </code>{' '}
          {value === null ? (
            <span className="soft">{isMade ? 'left out' : 'removed'}</span>
          ) : (
            <>
              {!isMade && <span className="soft">set to </span>}
              <Value name={name} value={value} />
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

function Value({ name, value }: { name: string; value: unknown }) {
  if (value === '') return <span className="soft">empty</span>
  if (name.endsWith('_at') && typeof value === 'number') return <Instant at={value} />
  return <Text>{typeof value === 'string' ? value : JSON.stringify(value)}</Text>
}
