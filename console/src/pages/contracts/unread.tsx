import { CallError } from '../../api/call.ts'
import type { Read } from '../../api/use-read.ts'
import { Id } from '../../parts/id.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'

const NOT_FOUND = 404

/** Says why a contract is not shown. */
export function Unread({ read: { error, again }, id }: { read: Read<unknown>; id: string }) {
  if (error === null) return null
  if (!(error instanceof CallError) || error.status !== NOT_FOUND)
    return <Problem error={error} onAgain={again} />
  return (
    <Empty>
      <p>
        There is no contract with the id <Id value={id} /> in this company.
      </p>
    </Empty>
  )
}
