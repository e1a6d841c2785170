import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { answeredUsageReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import { useUrlQuery } from '../../app/url.ts'
import { sumDecimals } from '../../format/decimal.ts'
import { DAY_S, startOfDay, startOfMonth } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Ranking } from '../../parts/ranking.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { groupKey } from '../../plots/prepare/stacks.ts'
import { UsagePlot } from '../../plots/usage-plot.tsx'
import { useColours } from '../../plots/use-colours.ts'

const DAYS = 30
const LARGEST = 5

const SPLITS = [
  { value: 'all', label: 'All accounts' },
  { value: 'largest', label: 'The five largest' },
] as const

/** What was used today, yesterday and this month, and by day. */
export function UsagePanel({ source, now }: { source: Source; now: number }) {
  const [{ split }, change] = useUrlQuery()
  const isSplit = split === 'largest'
  const today = startOfDay(now)
  const read = useRead(
    answeredUsageReading(
      useClient(),
      {
        ...sourceQuery(source),
        // On the 31st, the month has one day more than the plot.
        start_at: Math.min(startOfMonth(now), today - (DAYS - 1) * DAY_S),
        end_at: today + DAY_S,
        ...(isSplit ? { group_by: 'account', limit: LARGEST } : {}),
      },
      'day',
    ),
    { keepsEarlier: true },
  )
  const usage = read.data?.usage
  const colours = useColours(usage?.data.map(groupKey))
  const nameOf = useAccountNames((usage?.data ?? []).flatMap(({ account_id: id }) => id ?? []))
  return (
    <Panel
      heading={`Usage of ${source.label}`}
      read={read}
      tools={
        <Choice
          label="Accounts"
          options={SPLITS}
          value={isSplit ? 'largest' : 'all'}
          onChange={(value) => change({ split: value === 'all' ? undefined : value })}
        />
      }
    >
      {({ usage: answer }) => (
        <>
          <Totals days={answer.total.periods ?? []} source={source} now={now} />
          <UsagePlot
            usage={lastDays(answer)}
            source={source}
            period="day"
            now={now}
            caption={`Usage in ${source.unit}`}
            fileName="usage-by-day.csv"
            nameOf={nameOf}
            colours={colours}
          />
          {answer.group_by === 'account' && answer.data.length > 0 && (
            <Ranking
              usage={answer}
              source={source}
              caption="The largest accounts"
              heading="Account"
              showName={(id) => <Name>{nameOf(id)}</Name>}
              colours={colours}
            />
          )}
        </>
      )}
    </Panel>
  )
}

type Day = Schema<'UsagePeriods'>[number]

/** The usage of today, yesterday and the month, from the answer's days. */
function Totals({ days, source, now }: { days: readonly Day[]; source: Source; now: number }) {
  const today = startOfDay(now)
  const since = (startAt: number, endAt: number) =>
    sumDecimals(
      days
        .filter(({ period_start_at: at }) => at >= startAt && at < endAt)
        .map(({ quantity }) => quantity ?? '0'),
    )
  return (
    <div className="balances facts">
      <Total name="Today so far" value={since(today, today + DAY_S)} source={source} />
      <Total name="Yesterday" value={since(today - DAY_S, today)} source={source} />
      <Total name="This month" value={since(startOfMonth(now), today + DAY_S)} source={source} />
    </div>
  )
}

function Total({ name, value, source }: { name: string; value: string; source: Source }) {
  return (
    <div>
      <div className="balance__name">{name}</div>
      <div className="balance__value">
        <AmountOf value={value} source={source} />
      </div>
    </div>
  )
}

/** The answer with its last days alone, for the plot. */
function lastDays(usage: Schema<'GroupedUsage'>): Schema<'GroupedUsage'> {
  const cut = <Of extends Schema<'UsageSeries'>>(series: Of): Of => ({
    ...series,
    periods: series.periods?.slice(-DAYS) ?? [],
  })
  return {
    ...usage,
    total: cut(usage.total),
    data: usage.data.map(cut),
    rest: usage.rest === null ? null : cut(usage.rest),
    without: usage.without === null ? null : cut(usage.without),
  }
}
