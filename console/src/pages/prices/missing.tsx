import { CallError } from '../../api/call.ts'
import { Id } from '../../parts/id.tsx'
import { Empty } from '../../parts/problem.tsx'

const NOT_FOUND = 404
export const isMissing = (error: Error): boolean => error instanceof CallError && error.status === NOT_FOUND

/** Says that there is no such rate card. */
export function MissingCard({ id }: { id: string }) {
  return (
    <Empty>
      <p>
        There is no rate card with the id <Id value={id} /> in this company.
      </p>
    </Empty>
  )
}
