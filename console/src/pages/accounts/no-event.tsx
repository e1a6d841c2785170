import { useClient } from '../../api/client.ts'
import { type EventFilter, newestEventReading } from '../../api/queries/events.ts'
import { useRead } from '../../api/use-read.ts'
import { useUrlQuery } from '../../app/url.ts'
import { type DayRange, utcDay } from '../../format/time.ts'
import { Instant } from '../../parts/instant.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'
import { Name } from '../../parts/text.tsx'

interface NoEventProps {
  filter: EventFilter
  range: DayRange
  /** The first second of the range. */
  startAt: number
}

/** Says that a range has no event, and where the last one before it lies. */
export function NoEvent({ filter, range: { from, to }, startAt }: NoEventProps) {
  const { property, value } = filter
  return (
    <Empty>
      <p>
        <strong>
          None from {from} to {to}
          {property !== undefined && (
            <>
              {' '}
              with <Name>{`${property} = ${value ?? ''}`}</Name>
            </>
          )}
          .
        </strong>
      </p>
      <LastBefore filter={filter} startAt={startAt} />
    </Empty>
  )
}

/** Leads to the newest event before a second. */
export function LastBefore({ filter, startAt }: Pick<NoEventProps, 'filter' | 'startAt'>) {
  const [, change] = useUrlQuery()
  const { data, error, again } = useRead(newestEventReading(useClient(), { ...filter, end_at: startAt }))
  if (error !== null) return <Problem about="What was before cannot be read" error={error} onAgain={again} />
  if (data === undefined) return null
  const [last] = data.data
  if (last === undefined) return <p>There is no event before either.</p>
  const day = utcDay(last.occurred_at)
  return (
    <p className="row-actions">
      <span>
        The last event before is of <Instant at={last.occurred_at} />.
      </span>
      <button type="button" className="button button--small" onClick={() => change({ from: day, to: day })}>
        Show that day
      </button>
    </p>
  )
}
