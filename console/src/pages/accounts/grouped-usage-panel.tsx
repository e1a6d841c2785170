import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { groupedUsageReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import type { Period } from '../../format/time.ts'
import { type Aggregation, aggregationLabel, measuredIn } from '../../parts/aggregation-picker.tsx'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Decimal } from '../../parts/decimal.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import type { PickedRange } from '../../parts/range-picker.tsx'
import { Ranking } from '../../parts/ranking.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { Name, Text } from '../../parts/text.tsx'
import { addsUp, groupKey } from '../../plots/prepare/stacks.ts'
import { UsagePlot } from '../../plots/usage-plot.tsx'
import { useColours } from '../../plots/use-colours.ts'
import { LastBefore } from './no-event.tsx'
import { useOpenDay } from './open-day.ts'

type Usage = Schema<'GroupedUsage'>

/** So many values of a property are named. */
const NAMED = 10

interface GroupedUsagePanelProps {
  accountId: string
  source: Source
  aggregation: Aggregation
  period: Period
  /** The property by whose values usage is split. */
  property: string | undefined
  range: PickedRange
  seconds: { startAt: number; endAt: number }
  now: number
}

/** The usage of an account over a range: all of it, its plot, and the values of a property as a table. */
export function GroupedUsagePanel(props: GroupedUsagePanelProps) {
  const { accountId, source, aggregation, period, property, seconds } = props
  const read = useRead(
    groupedUsageReading(useClient(), {
      account_id: accountId,
      ...sourceQuery(source),
      start_at: seconds.startAt,
      end_at: seconds.endAt,
      aggregation,
      period,
      ...(property === undefined ? {} : { group_by: 'property', property, limit: NAMED }),
    }),
  )
  const colours = useColours(read.data?.data.map(groupKey))
  return (
    <Panel heading={`Usage by ${period}, ${source.label}`} read={read}>
      {(usage) =>
        usage.total.event_count === 0 ? (
          <NoUsage {...props} />
        ) : (
          <Answer {...props} usage={usage} colours={colours} />
        )
      }
    </Panel>
  )
}

function NoUsage({ accountId, source, range: { from, to }, seconds }: GroupedUsagePanelProps) {
  return (
    <Empty>
      <p>
        <strong>
          Nothing was used from {from} to {to}.
        </strong>
      </p>
      <LastBefore filter={{ account_id: accountId, ...sourceQuery(source) }} startAt={seconds.startAt} />
    </Empty>
  )
}

interface AnswerProps extends GroupedUsagePanelProps {
  usage: Usage
  colours: ReturnType<typeof useColours>
}

function Answer({ accountId, source, usage, period, range: { from, to }, now, colours }: AnswerProps) {
  const openDay = useOpenDay(accountId, source.id)
  const measured = measuredIn(source, usage.aggregation)
  const { quantity, event_count: events } = usage.total
  const label = aggregationLabel(usage.aggregation)
  return (
    <>
      <p className="facts">
        {quantity === null ? '–' : <AmountOf value={quantity} source={measured} />}{' '}
        <span className="soft">
          {usage.aggregation !== 'count' && (
            <>
              {label.toLowerCase()} of <Decimal value={events.toString()} />{' '}
              {events === 1 ? 'event' : 'events'},{' '}
            </>
          )}
          from {from} to {to}, both included
        </span>
      </p>
      <UsagePlot
        usage={usage}
        source={measured}
        period={period}
        now={now}
        caption={`${label}, ${measured.unit}`}
        fileName={`usage-${from}-${to}.csv`}
        colours={colours}
        onOpen={period === 'day' ? openDay : undefined}
      />
      {usage.property !== null && <Values usage={usage} source={measured} colours={colours} />}
    </>
  )
}

function Values({
  usage,
  source,
  colours,
}: {
  usage: Usage
  source: Source
  colours: AnswerProps['colours']
}) {
  const { property, data, rest } = usage
  if (data.length === 0)
    return (
      <Empty>
        <p>
          <strong>
            No event of these has <Name>{property ?? ''}</Name>.
          </strong>{' '}
          A property that is a list, an object or an empty text counts as missing.
        </p>
      </Empty>
    )
  return (
    <>
      {rest !== null && (
        <p className="soft">
          {data.length} of {data.length + rest.groups} values, the rest together.
        </p>
      )}
      {!addsUp(usage) && (
        <p className="soft">The plot shows all events: values of this kind do not add up.</p>
      )}
      <Ranking
        usage={usage}
        source={source}
        caption={`Usage by ${property ?? ''}`}
        heading={property ?? ''}
        showName={(key) => <Text>{key}</Text>}
        colours={addsUp(usage) ? colours : undefined}
      />
    </>
  )
}
