import type { Schema } from '../api/contract.ts'
import { DAY_S } from '../format/time.ts'
import { Instant } from '../parts/instant.tsx'
import { Notice } from '../parts/problem.tsx'

/** A clock that is this close to real time is not worth a word. */
const CLOSE_S = 60

/** Says so when the clock of a test company was moved. */
export function Clock({ caller: { now, real_now: realNow } }: { caller: Schema<'Caller'> }) {
  const ahead = now - realNow
  if (Math.abs(ahead) < CLOSE_S) return null
  return (
    <Notice tone="warn">
      <span>
        The clock of this test company shows <Instant at={now} /> ({distance(Math.abs(ahead))}{' '}
        {ahead > 0 ? 'ahead' : 'back'}).
      </span>
    </Notice>
  )
}

function distance(seconds: number): string {
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < DAY_S) return `${Math.floor(seconds / 3_600)} h`
  const days = Math.floor(seconds / DAY_S)
  return `${days} ${days === 1 ? 'day' : 'days'}`
}
