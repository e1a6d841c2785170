import { useClient } from '../../api/client.ts'
import { dailyUsageReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import { isZero, sumDecimals } from '../../format/decimal.ts'
import { type DayRange, rangeOfRows, startOfDay, utcDay } from '../../format/time.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import type { PickedRange } from '../../parts/range-picker.tsx'
import { type Source, sourceIdOf } from '../../parts/sources.ts'
import { BarPlot } from '../../plots/bar-plot.tsx'
import { useOpenDay } from './open-day.ts'

interface UsageProps {
  accountId: string
  source: Source
  range: PickedRange
  seconds: { startAt: number; endAt: number }
  now: number
}

interface DayRow {
  startAt: number
  quantity: string
}

/** What an account used of a source, by UTC day. */
export function UsagePanel({ accountId, source, range, seconds: { startAt, endAt }, now }: UsageProps) {
  const read = useRead(dailyUsageReading(useClient(), accountId, { start_at: startAt, end_at: endAt }), {
    keepsEarlier: true,
  })
  return (
    <Panel heading={`Usage, ${source.label}`} read={read}>
      {({ data }) => {
        const rows: DayRow[] = data.map(({ period_start_at: day, data: lines }) => ({
          startAt: day,
          quantity: lines.find((line) => sourceIdOf(line) === source.id)?.quantity ?? '0',
        }))
        return (
          <Days
            accountId={accountId}
            rows={rows}
            source={source}
            now={now}
            range={rangeOfRows(rows) ?? range}
          />
        )
      }}
    </Panel>
  )
}

function Days({
  accountId,
  rows,
  source,
  now,
  range,
}: Pick<UsageProps, 'accountId' | 'source' | 'now'> & { rows: readonly DayRow[]; range: DayRange }) {
  const openDay = useOpenDay(accountId, source.id)
  if (rows.every(({ quantity }) => isZero(quantity)))
    return (
      <Empty>
        <p>
          <strong>
            Nothing was used from {range.from} to {range.to}.
          </strong>{' '}
          A longer range may show more.
        </p>
      </Empty>
    )
  return (
    <>
      <p className="facts">
        <AmountOf value={sumDecimals(rows.map(({ quantity }) => quantity))} source={source} />{' '}
        <span className="soft">
          from {range.from} to {range.to}, both included
        </span>
      </p>
      <BarPlot
        caption={`Usage in ${source.unit}`}
        rows={rows}
        onOpen={openDay}
        say={({ quantity }) => <AmountOf value={quantity} source={source} />}
        input={{
          series: [{ name: source.label }],
          days: rows.map(({ startAt, quantity }) => ({ startAt, values: [quantity] })),
          runningDay: startOfDay(now),
        }}
        table={{
          columns: [
            {
              heading: `Quantity, ${source.unit}`,
              isNumber: true,
              numberOf: ({ quantity }) => quantity,
              cell: ({ quantity }) => <AmountOf value={quantity} source={source} />,
            },
          ],
          csv: [
            ['day, UTC', `quantity, ${source.unit}`],
            ...rows.map(({ startAt, quantity }) => [utcDay(startAt), { number: quantity }]),
          ],
          fileName: `usage-${range.from}-${range.to}.csv`,
        }}
      />
    </>
  )
}
