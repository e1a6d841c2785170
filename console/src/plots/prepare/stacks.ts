import { countText, sumDecimals } from '../../format/decimal.ts'
import type { BarSeries } from './bars.ts'
import { COLOURS, type Colours } from './colours.ts'

/** Usage in all periods, and in each of them. */
interface Series {
  readonly quantity: string | null
  readonly periods?: readonly { readonly period_start_at: number; readonly quantity: string | null }[]
}

/** Usage in groups, as the API answers it. */
export interface StackedUsage {
  readonly aggregation: string
  readonly property: string | null
  readonly total: Series
  readonly data: readonly (Series & { readonly account_id: string | null; readonly value: string | null })[]
  readonly rest: (Series & { readonly groups: number }) | null
  readonly without: Series | null
}

/** A period of a stack, with exact text. */
export interface StackRow {
  startAt: number
  total: string | null
  /** The value of each series. */
  values: readonly (string | null)[]
}

export interface Stack {
  series: readonly BarSeries[]
  rows: readonly StackRow[]
}

/** Only sums and counts of groups add up to that of all. */
export const addsUp = ({ aggregation }: Pick<StackedUsage, 'aggregation'>): boolean =>
  aggregation === 'sum' || aggregation === 'count'

/** What tells a group from others: the id of its account, or its value. */
export const groupKey = ({
  account_id: accountId,
  value,
}: {
  readonly account_id: string | null
  readonly value: string | null
}): string => accountId ?? value ?? ''

/**
 * Makes the series of a stack: the largest groups, all others together, and what belongs to no group. They add up to
 * the total. Where they do not, as with averages, the total is the only series.
 *
 * @param nameOf the name of a group by its key
 */
export function stackOf(usage: StackedUsage, nameOf: (key: string) => string, colours: Colours): Stack {
  const { total, data, without, property } = usage
  if (!addsUp(usage) || (data.length === 0 && without === null))
    return { series: [{ name: 'all' }], rows: rowsOf(total, [total]) }
  const named = data.slice(0, COLOURS)
  const rest = restOf(usage)
  const series = [
    ...named.map((group) => ({ name: nameOf(groupKey(group)), colour: colours.get(groupKey(group)) })),
    ...(rest === undefined ? [] : [{ name: othersText(rest.groups), isRest: true }]),
    ...(without === null ? [] : [{ name: `without ${property ?? ''}`, isWithout: true }]),
  ]
  const parts = [...named, ...(rest === undefined ? [] : [rest]), ...(without === null ? [] : [without])]
  return { series, rows: rowsOf(total, parts) }
}

/** What stands for all other groups together. */
export const othersText = (groups: number): string =>
  groups === 1 ? '1 other' : `${countText(groups)} others`

function rowsOf(total: Series, parts: readonly Series[]): StackRow[] {
  return (total.periods ?? []).map(({ period_start_at: startAt, quantity }, index) => ({
    startAt,
    total: quantity,
    values: parts.map(({ periods }) => periods?.[index]?.quantity ?? null),
  }))
}

/** All groups that have no colour: those of the answer's rest, and those that are named beyond the last colour. */
function restOf({ total, data, rest }: StackedUsage): (Series & { groups: number }) | undefined {
  const beyond = data.slice(COLOURS)
  const all: readonly Series[] = [...beyond, ...(rest === null ? [] : [rest])]
  if (all.length === 0) return undefined
  const add = (quantities: readonly (string | null)[]) =>
    sumDecimals(quantities.filter((quantity) => quantity !== null))
  return {
    groups: beyond.length + (rest?.groups ?? 0),
    quantity: add(all.map(({ quantity }) => quantity)),
    periods: (total.periods ?? []).map(({ period_start_at }, index) => ({
      period_start_at,
      quantity: add(all.map(({ periods }) => periods?.[index]?.quantity ?? null)),
    })),
  }
}
