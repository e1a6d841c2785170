import { CallError } from '../api/call.ts'
import type { Read } from '../api/use-read.ts'
import { Id } from './id.tsx'
import { Empty, Problem } from './problem.tsx'

/** Answers to a read by id that is not there. An id that cannot be one is refused with 400. */
const MISSING: readonly number[] = [400, 404]

/** Whether what was asked for by its id is not there. */
export const isMissing = (error: Error | null): boolean =>
  error instanceof CallError && MISSING.includes(error.status)

interface UnreadProps {
  read: Pick<Read<unknown>, 'error' | 'again'>
  /** What was read, such as `contract`. */
  kind: string
  id: string
}

/** Says why a resource is not shown: it is not there, or could not be read. */
export function Unread({ read: { error, again }, kind, id }: UnreadProps) {
  if (error === null) return null
  if (!isMissing(error)) return <Problem error={error} onAgain={again} />
  return (
    <Empty>
      <p>
        There is no {kind} with the id <Id value={id} /> in this company.
      </p>
    </Empty>
  )
}
