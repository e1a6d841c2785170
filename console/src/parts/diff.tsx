import './diff.css'
import { visibleText } from '../format/visible-text.ts'
import { Text } from './text.tsx'

interface DiffProps {
  /** Fields with the texts they had and have; undefined where there was or is no such field. */
  changes: readonly { field: string; before: string | undefined; after: string | undefined }[]
}

/** What changed, field by field, in words as well as in colours. */
export function Diff({ changes }: DiffProps) {
  return (
    <dl className="diff">
      {changes.map(({ field, before, after }) => (
        <div key={field} className="diff__row">
          <dt className="diff__field">
            <bdi>{visibleText(field)}</bdi>
          </dt>
          <dd className="diff__values">
            {before !== undefined && (
              <del className="diff__before">
                <span className="diff__word">{after === undefined ? 'removed' : 'was'}</span>{' '}
                <Text>{before}</Text>
              </del>
            )}
            {after !== undefined && (
              <ins className="diff__after">
                <span className="diff__word">{before === undefined ? 'added' : 'now'}</span>{' '}
                <Text>{after}</Text>
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
