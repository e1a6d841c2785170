import type { Schema } from '../api/contract.ts'
import { distanceText } from '../format/time.ts'
import { Instant } from '../parts/instant.tsx'
import { Notice } from '../parts/problem.tsx'
import { CLOSE_S } from './now.ts'

/** Says so when the clock of a test company was moved. */
export function Clock({ caller: { now, real_now: realNow } }: { caller: Schema<'Caller'> }) {
  const ahead = now - realNow
  if (Math.abs(ahead) < CLOSE_S) return null
  return (
    <Notice tone="warn">
      <span>
        The clock of this test company shows <Instant at={now} /> ({distanceText(ahead)}{' '}
        {ahead > 0 ? 'ahead' : 'back'}).
      </span>
    </Notice>
  )
}
