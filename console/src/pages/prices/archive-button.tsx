import type { ReadPath } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { wordsOf } from '../../parts/problem.tsx'

interface ArchiveButtonProps {
  /** The path of the resource. */
  target: string
  isArchived: boolean
  changes: readonly ReadPath[]
  /** Whether it stands in a row. */
  isSmall?: boolean
}

/** Archives something, or brings it back. What uses it goes on, so nothing is asked. */
export function ArchiveButton({ target, isArchived, changes, isSmall = false }: ArchiveButtonProps) {
  const write = useWrite(changes, () => undefined)
  return (
    <>
      <button
        type="button"
        className={isSmall ? 'button button--small' : 'button'}
        title={isArchived ? undefined : 'It cannot be used anew. What uses it goes on.'}
        disabled={write.isSending}
        onClick={() => {
          write.send({ method: 'POST', target: `${target}/${isArchived ? 'unarchive' : 'archive'}` })
        }}
      >
        {isArchived ? 'Bring back' : 'Archive'}
      </button>
      {write.error !== null && <span className="form__error">{wordsOf(write.error)}</span>}
    </>
  )
}
