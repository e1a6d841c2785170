import type { ReactNode } from 'react'
import type { Schema } from '../api/contract.ts'
import { shareText } from '../format/fraction.ts'
import { Swatch } from '../plots/bar-plot.tsx'
import type { BarSeries } from '../plots/prepare/bars.ts'
import { COLOURS, type Colours } from '../plots/prepare/colours.ts'
import { addsUp, groupKey, othersText } from '../plots/prepare/stacks.ts'
import { AmountOf } from './amount-of.tsx'
import { type Column, DataTable } from './data-table.tsx'
import { Decimal } from './decimal.tsx'
import type { Source } from './sources.ts'

interface RankingProps {
  usage: Schema<'GroupedUsage'>
  /** What quantities are measured in. */
  source: Source
  caption: string
  /** What a group is called, above the names. */
  heading: string
  /** Shows the name of a group by its key. */
  showName: (key: string) => ReactNode
  /** The colours of a plot that stands beside. */
  colours?: Colours | undefined
}

interface RankedRow {
  key: string
  name: ReactNode
  series: BarSeries | undefined
  quantity: string | null
  events: number
}

/** Groups of usage, the largest first, then all others together, and what belongs to no group. */
export function Ranking({ usage, source, caption, heading, showName, colours }: RankingProps) {
  return (
    <DataTable
      caption={caption}
      columns={columnsOf(usage, source, heading)}
      rows={rowsOf(usage, showName, colours)}
      keyOf={({ key }) => key}
    />
  )
}

function rowsOf(
  { data, rest, without, property }: RankingProps['usage'],
  showName: RankingProps['showName'],
  colours: Colours | undefined,
): RankedRow[] {
  const ofColour = (series: BarSeries) => (colours === undefined ? undefined : series)
  return [
    ...data.map((group, rank) => {
      const key = groupKey(group)
      return {
        key: `group ${key}`,
        name: showName(key),
        series: ofColour(
          rank < COLOURS ? { name: key, colour: colours?.get(key) } : { name: key, isRest: true },
        ),
        quantity: group.quantity,
        events: group.event_count,
      }
    }),
    ...(rest === null
      ? []
      : [
          {
            key: 'rest',
            name: <em>{othersText(rest.groups)}, together</em>,
            series: ofColour({ name: '', isRest: true }),
            quantity: rest.quantity,
            events: rest.event_count,
          },
        ]),
    ...(without === null
      ? []
      : [
          {
            key: 'without',
            name: <em>without {property}</em>,
            series: ofColour({ name: '', isWithout: true }),
            quantity: without.quantity,
            events: without.event_count,
          },
        ]),
  ]
}

function columnsOf(usage: RankingProps['usage'], source: Source, heading: string): Column<RankedRow>[] {
  return [
    {
      heading,
      cell: ({ name, series }) => (
        <>
          {series !== undefined && <Swatch series={series} />} {name}
        </>
      ),
    },
    {
      heading: 'Quantity',
      isNumber: true,
      numberOf: ({ quantity }) => quantity,
      cell: ({ quantity }) => (quantity === null ? '–' : <AmountOf value={quantity} source={source} />),
    },
    ...(addsUp(usage)
      ? [
          {
            heading: 'Share',
            isNumber: true,
            cell: ({ quantity }: RankedRow) => shareText(quantity ?? '0', usage.total.quantity ?? '0') ?? '–',
          },
        ]
      : []),
    ...(usage.aggregation === 'count'
      ? []
      : [
          {
            heading: 'Events',
            isNumber: true,
            cell: ({ events }: RankedRow) => <Decimal value={events.toString()} />,
          },
        ]),
  ]
}
