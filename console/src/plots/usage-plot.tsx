import type { Schema } from '../api/contract.ts'
import type { CsvCell } from '../format/csv.ts'
import { isZero } from '../format/decimal.ts'
import { type Period, periodText, startOfPeriod } from '../format/time.ts'
import { visibleText } from '../format/visible-text.ts'
import { AmountOf } from '../parts/amount-of.tsx'
import type { Column } from '../parts/data-table.tsx'
import type { Source } from '../parts/sources.ts'
import { BarPlot } from './bar-plot.tsx'
import type { Colours } from './prepare/colours.ts'
import { type Stack, stackOf, type StackRow } from './prepare/stacks.ts'

interface UsagePlotProps {
  usage: Schema<'GroupedUsage'>
  /** What quantities are measured in. */
  source: Source
  period: Period
  now: number
  caption: string
  fileName: string
  nameOf?: (key: string) => string
  colours?: Colours
  /** Opens a day or month. */
  onOpen?: ((row: StackRow) => void) | undefined
}

const NONE: Colours = new Map()

/** Usage by period: bars of the largest groups, all others and what is in no group, one on top of the other. */
export function UsagePlot(props: UsagePlotProps) {
  const { usage, source, period, now, caption, fileName, nameOf = String, colours = NONE, onOpen } = props
  const stack = stackOf(usage, nameOf, colours)
  const { series, rows } = stack
  return (
    <BarPlot
      caption={caption}
      period={period}
      rows={rows}
      onOpen={onOpen}
      say={(row) => <Said row={row} stack={stack} source={source} />}
      input={{
        series,
        days: rows.map(({ startAt, values }) => ({ startAt, values })),
        runningDay: startOfPeriod(now, period),
        period,
      }}
      table={{
        columns: columnsOf(stack, source),
        csv: csvOf(stack, source, period),
        fileName,
      }}
    />
  )
}

function Quantity({ value, source }: { value: string | null; source: Source }) {
  return value === null ? '–' : <AmountOf value={value} source={source} />
}

/** What a period says: all, and then its parts that are not 0. */
function Said({ row, stack: { series }, source }: { row: StackRow; stack: Stack; source: Source }) {
  return (
    <>
      <Quantity value={row.total} source={source} />
      {series.length > 1 &&
        row.values.map((value, index) =>
          value === null || isZero(value) ? null : (
            <span key={index}>
              {' · '}
              <bdi>{visibleText(series[index]?.name ?? '')}</bdi> <Quantity value={value} source={source} />
            </span>
          ),
        )}
    </>
  )
}

const columnsOf = ({ series }: Stack, source: Source): Column<StackRow>[] => [
  {
    heading: series.length > 1 ? 'All' : 'Quantity',
    isNumber: true,
    numberOf: ({ total }) => total,
    cell: ({ total }) => <Quantity value={total} source={source} />,
  },
  ...(series.length > 1 ? series : []).map(({ name }, index) => ({
    heading: visibleText(name),
    isNumber: true,
    numberOf: ({ values }: StackRow) => values[index],
    cell: ({ values }: StackRow) => <Quantity value={values[index] ?? null} source={source} />,
  })),
]

function csvOf({ series, rows }: Stack, source: Source, period: Period): CsvCell[][] {
  const number = (value: string | null): CsvCell => ({ number: value ?? '' })
  const parts = series.length > 1 ? series.map(({ name }) => name) : []
  return [
    [`${period}, UTC`, `all, ${source.unit}`, ...parts],
    ...rows.map(({ startAt, total, values }) => [
      periodText(startAt, period),
      number(total),
      ...(parts.length === 0 ? [] : values.map(number)),
    ]),
  ]
}
