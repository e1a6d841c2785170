import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { askedBalanceReading } from '../../api/queries/balances.ts'
import { COUNTED_MS, storedEventReading } from '../../api/queries/events.ts'
import { useRead } from '../../api/use-read.ts'
import { useSecond } from '../../app/effects.ts'
import { hasCorrection } from '../../format/event-changes.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Notice, Problem } from '../../parts/problem.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'

/** After so long the page says that something may be wrong. */
const LATE_S = 30

/** Waits until a correction that was answered is in the balance, and shows the balance meanwhile. */
export function Counting({ event, source }: { event: Schema<'UsageEvent'>; source: Source }) {
  const client = useClient()
  const second = useSecond()
  const [since] = useState(second)
  // When usage had the correction. A balance that was asked for after that has it, too.
  const [storedAt, setStoredAt] = useState<number>()
  const stored = useRead(storedEventReading(client, event), { isEnabled: storedAt === undefined })
  if (
    storedAt === undefined &&
    stored.data?.data.some((one) => one.id === event.id && hasCorrection(one, event))
  )
    setStoredAt(stored.updatedAt)
  const [isFollowed, setFollowed] = useState(false)
  const of = { account_id: event.account_id, ...sourceQuery(source) }
  const balance = useRead(askedBalanceReading(client, of, COUNTED_MS), { isEnabled: !isFollowed })
  if (!isFollowed && storedAt !== undefined && balance.data !== undefined && balance.data.askedAt >= storedAt)
    setFollowed(true)
  const error = stored.error ?? balance.error
  return (
    <>
      {error !== null && <Problem about="The balance cannot be read" error={error} onAgain={balance.again} />}
      <Notice tone={isFollowed ? 'plain' : 'warn'}>
        <span role="status">
          {isFollowed ? 'The balance has followed. ' : 'Counting… '}
          {!isFollowed && second - since > LATE_S && 'It takes longer than usual. '}
          {balance.data !== undefined && (
            <>
              It is <AmountOf value={balance.data.balance.balance} source={source} />.
            </>
          )}
        </span>
      </Notice>
    </>
  )
}
