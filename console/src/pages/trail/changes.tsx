import './trail.css'
import { visibleText } from '../../format/visible-text.ts'
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
              <Text>{textOf(value)}</Text>
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
