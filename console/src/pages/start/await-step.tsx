import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { awaitedBalanceReading } from '../../api/queries/balances.ts'
import { eventsOfSecondReading } from '../../api/queries/events.ts'
import { useRead } from '../../api/use-read.ts'
import { useSecond } from '../../app/effects.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Decimal } from '../../parts/decimal.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Problem } from '../../parts/problem.tsx'
import { useSources } from '../../parts/sources.ts'
import { Step } from './step.tsx'
import type { FirstEvent } from './subject.ts'

/** After so long without an event, the page says what usually is wrong. */
const HELP_AFTER_S = 30
/** A balance that comes so long after the event was asked for after it. */
const SETTLE_MS = 300
/** So long it asks by itself. */
const AWAIT_S = 600

/** Waits until the event has arrived, and shows how the balance fell. */
export function AwaitStep({ event }: { event: FirstEvent }) {
  const client = useClient()
  const second = useSecond()
  const [since, setSince] = useState(second)
  const query = { account_id: event.accountId, metric_id: event.metricId }
  const isAwaited = second - since < AWAIT_S
  const balance = useRead(awaitedBalanceReading(client, query), { isEnabled: isAwaited })
  // Usage of before is no sign of this event. So what is asked for is the event of this very second.
  const events = useRead(eventsOfSecondReading(client, query, event.at), { isEnabled: isAwaited })
  const arrived = events.data?.data[0]
  const [seenAt, setSeenAt] = useState<number>()
  if (seenAt === undefined && arrived !== undefined) setSeenAt(events.updatedAt)
  // A balance that was asked for before the event was seen may lack it.
  const hasArrived = seenAt !== undefined && balance.updatedAt - seenAt > SETTLE_MS
  const error = balance.error ?? events.error
  const again = () => {
    balance.again()
    events.again()
  }
  return (
    <Step heading={hasArrived ? 'The balance fell' : 'Waiting for the event'} isDone={hasArrived}>
      {error !== null && <Problem error={error} onAgain={again} />}
      {balance.data !== undefined && <Fallen balance={balance.data} />}
      {arrived !== undefined && <Arrived event={arrived} />}
      {!hasArrived && isAwaited && (
        <p className="steps__waiting" role="status">
          Nothing yet. This page asks every second.
        </p>
      )}
      {!hasArrived && !isAwaited && (
        <button type="button" className="button" onClick={() => setSince(second)}>
          Wait again
        </button>
      )}
      {!hasArrived && second - since >= HELP_AFTER_S && <WhatMayBeWrong />}
    </Step>
  )
}

function Fallen({
  balance: { grant_total, usage_total, balance, metric_id },
}: {
  balance: Schema<'Balance'>
}) {
  const source = useSources(useClient()).data?.find(metric_id ?? '')
  if (source === undefined) return null
  return (
    <p className="steps__balance">
      <span className="balance__value">
        <AmountOf value={balance} source={source} />
      </span>{' '}
      <span className="soft">
        granted <Decimal value={grant_total} /> − used <Decimal value={usage_total} />
      </span>
    </p>
  )
}

function Arrived({ event }: { event: Schema<'UsageEvent'> }) {
  return (
    <p>
      <Id value={event.id} /> of <Decimal value={event.quantity} />, occurred{' '}
      <Instant at={event.occurred_at} />, accepted <Instant at={event.accepted_at} />
    </p>
  )
}

function WhatMayBeWrong() {
  return (
    <div className="soft">
      <p>If you sent one, look at the answer:</p>
      <ul>
        <li>401: the key is wrong, or is missing in the variable TALLY_KEY.</li>
        <li>
          404: the command has the address of another service. Where services run apart, the gateway takes
          events.
        </li>
        <li>422: the account or the metric belongs to another company than the key.</li>
        <li>202: it is durable, and is counted within a moment. Is this page of the same company?</li>
      </ul>
    </div>
  )
}
