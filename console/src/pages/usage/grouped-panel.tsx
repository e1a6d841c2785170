import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { type AnsweredUsage, answeredUsageReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { countText } from '../../format/decimal.ts'
import { DAY_S, type Period, utcDay } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { type Aggregation, aggregationLabel, measuredIn } from '../../parts/aggregation-picker.tsx'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Ranking } from '../../parts/ranking.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { Name, Text } from '../../parts/text.tsx'
import { addsUp, groupKey } from '../../plots/prepare/stacks.ts'
import { UsagePlot } from '../../plots/usage-plot.tsx'
import { useColours } from '../../plots/use-colours.ts'
import { AllGroups } from './all-groups.tsx'
import { NoUsage, NoValue } from './empty-usage.tsx'

/** So many groups are named. */
const NAMED = 10

interface GroupedPanelProps {
  source: Source
  now: number
  aggregation: Aggregation
  period: Period
  seconds: { startAt: number; endAt: number }
  /** Undefined splits by account. */
  property: string | undefined
  /** The event that was accepted last. */
  newest: Schema<'UsageEvent'> | undefined
  seen: readonly string[]
  onChoose: (property: string) => void
}

/** The answer to one question: the usage by period as a plot, and its groups as a table. */
export function GroupedPanel(props: GroupedPanelProps) {
  const { source, aggregation, period, seconds, property } = props
  const read = useRead(
    answeredUsageReading(
      useClient(),
      {
        ...sourceQuery(source),
        start_at: seconds.startAt,
        end_at: seconds.endAt,
        aggregation,
        limit: NAMED,
        ...(property === undefined ? { group_by: 'account' } : { group_by: 'property', property }),
      },
      period,
    ),
    { keepsEarlier: true },
  )
  const groups = read.data?.usage.data
  const colours = useColours(groups?.map(groupKey))
  const nameOf = useAccountNames((groups ?? []).flatMap(({ account_id: id }) => id ?? []))
  return (
    <Panel heading={`Usage of ${source.label}`} read={read}>
      {(answer) => <Answer {...props} answer={answer} colours={colours} nameOf={nameOf} />}
    </Panel>
  )
}

interface AnswerProps extends GroupedPanelProps {
  answer: AnsweredUsage
  colours: ReturnType<typeof useColours>
  nameOf: (accountId: string) => string
}

function Answer({ answer, source, now, newest, seen, onChoose, colours, nameOf }: AnswerProps) {
  const { usage, asked, period = 'day' } = answer
  const [from, to] = [utcDay(asked.start_at), utcDay(asked.end_at - DAY_S)]
  if (usage.total.event_count === 0) return <NoUsage from={from} to={to} newest={newest} />
  if (usage.property !== null && usage.data.length === 0)
    return <NoValue property={usage.property} from={from} to={to} seen={seen} onChoose={onChoose} />
  const measured = measuredIn(source, usage.aggregation)
  const label = aggregationLabel(usage.aggregation)
  return (
    <>
      <p className="facts">
        {usage.total.quantity !== null && <AmountOf value={usage.total.quantity} source={measured} />}{' '}
        <span className="soft">
          {usage.aggregation !== 'count' && (
            <>
              {label.toLowerCase()} of {countText(usage.total.event_count)}{' '}
              {usage.total.event_count === 1 ? 'event' : 'events'},{' '}
            </>
          )}
          from {from} to {to}, both included
        </span>
      </p>
      {!addsUp(usage) && (
        <p className="soft">
          The plot shows all events together, because such values of groups do not add up. The table has the
          groups.
        </p>
      )}
      <UsagePlot
        usage={usage}
        source={measured}
        period={period}
        now={now}
        caption={`${label} in ${measured.unit}`}
        fileName={`usage-${from}-${to}.csv`}
        nameOf={usage.property === null ? nameOf : String}
        colours={colours}
      />
      <h3 className="subheading">{headingOf(usage)}</h3>
      <Ranking
        usage={usage}
        source={measured}
        caption="Ranking"
        heading={usage.property ?? 'Account'}
        showName={(key) =>
          usage.property === null ? (
            <Link to="account" parameters={{ accountId: key }} query={{ source: source.id }}>
              <Name>{nameOf(key)}</Name>
            </Link>
          ) : (
            <Text>{key}</Text>
          )
        }
        colours={addsUp(usage) ? colours : undefined}
      />
      <AllGroups answer={answer} source={source} />
    </>
  )
}

/** How much of all is shown: what is left out is said. */
function headingOf({ data, rest, property }: Schema<'GroupedUsage'>): string {
  const things = property === null ? 'accounts' : 'values'
  if (rest !== null)
    return `${data.length} of ${countText(data.length + rest.groups)} ${things}, the rest together`
  if (data.length === 1) return property === null ? 'The only account' : 'The only value'
  return `All ${data.length} ${things}`
}
