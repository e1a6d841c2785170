import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { dailyBalanceReading } from '../../api/queries/balances.ts'
import { useRead } from '../../api/use-read.ts'
import { useNow } from '../../app/now.ts'
import { compareDecimals } from '../../format/decimal.ts'
import { rangeOfRows, utcDay } from '../../format/time.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Notice } from '../../parts/problem.tsx'
import { type PickedRange, RangePicker, useRange } from '../../parts/range-picker.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { StepPlot } from '../../plots/step-plot.tsx'
import { useOpenDay } from './open-day.ts'
import { UsagePanel } from './usage-panel.tsx'

/** The balance and the usage of an account in one source, by UTC day, over the range of the address. */
export function ByDay({ accountId, source }: { accountId: string; source: Source }) {
  const now = useNow()
  const range = useRange(now)
  const { seconds } = range
  if (seconds === undefined)
    return (
      <Notice tone="bad">
        <span>The range of this address cannot be shown: {range.fault}.</span>
        <RangePicker now={now} range={range} />
      </Notice>
    )
  return (
    <>
      <BalancePanel
        key={source.id} // the numbers of one source never stand under the name of another
        accountId={accountId}
        source={source}
        range={range}
        seconds={seconds}
        now={now}
      />
      <UsagePanel accountId={accountId} source={source} range={range} seconds={seconds} now={now} />
    </>
  )
}

interface BalancePanelProps {
  accountId: string
  source: Source
  range: PickedRange
  seconds: { startAt: number; endAt: number }
  now: number
}

function BalancePanel({ accountId, source, range, seconds: { startAt, endAt }, now }: BalancePanelProps) {
  const query = { ...sourceQuery(source), start_at: startAt, end_at: endAt }
  const read = useRead(dailyBalanceReading(useClient(), accountId, query), { keepsEarlier: true })
  return (
    <Panel
      heading={`Balance by day, ${source.label}`}
      read={read}
      tools={<RangePicker now={now} range={range} />}
    >
      {({ data }) =>
        data.length === 0 ? (
          <Empty>
            <p>
              <strong>These days are still to come.</strong> The balance is known up to now.
            </p>
          </Empty>
        ) : (
          <Days accountId={accountId} days={data} source={source} range={range} />
        )
      }
    </Panel>
  )
}

type Day = Schema<'DailyBalances'>['data'][number]

interface DayRow {
  startAt: number
  day: Day
  /** Whether more was granted at its end than at the end of the day before. */
  isGranted: boolean
}

const rowsOf = (days: readonly Day[]): DayRow[] =>
  days.map((day, index) => {
    const before = days[index - 1]
    const isGranted = before !== undefined && compareDecimals(day.grant_total, before.grant_total) > 0
    return { startAt: day.period_start_at, day, isGranted }
  })

interface DaysProps {
  accountId: string
  days: readonly Day[]
  source: Source
  range: PickedRange
}

function Days({ accountId, days, source, range }: DaysProps) {
  const openDay = useOpenDay(accountId, source.id)
  const rows = rowsOf(days)
  const shown = rangeOfRows(rows) ?? range
  return (
    <StepPlot
      caption={`Balance in ${source.unit}, at the end of each day`}
      rows={rows}
      onOpen={openDay}
      say={({ day, isGranted }) => (
        <>
          <AmountOf value={day.balance} source={source} />
          {isGranted && ', after a grant'}
        </>
      )}
      input={{ days: days.map(({ period_start_at: startAt, balance }) => ({ startAt, value: balance })) }}
      marked={new Set(rows.filter(({ isGranted }) => isGranted).map(({ startAt }) => startAt))}
      table={{
        columns: columnsOf(source),
        csv: [
          ['day, UTC', 'granted', 'used', `balance, ${source.unit}`],
          ...days.map(({ period_start_at: startAt, grant_total: granted, usage_total: used, balance }) => [
            utcDay(startAt),
            { number: granted },
            { number: used },
            { number: balance },
          ]),
        ],
        fileName: `balance-${shown.from}-${shown.to}.csv`,
      }}
    />
  )
}

const columnsOf = (source: Source): Column<DayRow>[] => [
  {
    heading: 'Granted',
    isNumber: true,
    numberOf: ({ day }) => day.grant_total,
    cell: ({ day }) => <AmountOf value={day.grant_total} source={source} />,
  },
  {
    heading: 'Used',
    isNumber: true,
    numberOf: ({ day }) => day.usage_total,
    cell: ({ day }) => <AmountOf value={day.usage_total} source={source} />,
  },
  {
    heading: 'Balance',
    isNumber: true,
    numberOf: ({ day }) => day.balance,
    cell: ({ day }) => <AmountOf value={day.balance} source={source} />,
  },
]
