import {
  addRatios,
  compareRatios,
  divideRatios,
  isZeroRatio,
  maxRatio,
  minRatio,
  multiplyRatios,
  type Ratio,
  RATIO_ZERO,
  ratioOf,
  subtractRatios,
} from '../../../../shared/amount/ratio.ts'
import { type Cost, costOf } from '../../../../shared/domain/billing/cost.ts'
import type { PriceTerms } from '../../../../shared/domain/billing/price.ts'
import { lineAxis, type PlotBox, type PlotSize, type Tick, valueAxis } from './axis.ts'

/** The amount of a quantity, and how it came about. All numbers are exact. */
export interface PricedQuantity {
  billable: Ratio
  cost: Cost
  bound: 'minimum' | 'maximum' | undefined
  amount: Ratio
}

/** Prices a quantity of a whole period, without a discount and before rounding. @param quantity not negative */
export function priceQuantity(terms: PriceTerms<Ratio>, quantity: Ratio): PricedQuantity {
  if (terms.model === 'flat') {
    const cost = costOf(terms, quantity)
    return { billable: quantity, cost, bound: undefined, amount: cost.exactAmount }
  }
  const billable = maxRatio(RATIO_ZERO, subtractRatios(quantity, terms.includedQuantity))
  const cost = costOf(terms, billable)
  const { minimumAmount: minimum, maximumAmount: maximum } = terms
  const capped = maximum === null ? cost.exactAmount : minRatio(cost.exactAmount, maximum)
  const amount = minimum === null ? capped : maxRatio(capped, minimum)
  const isAbove = compareRatios(amount, cost.exactAmount)
  return { billable, cost, bound: isAbove === 0 ? undefined : isAbove > 0 ? 'minimum' : 'maximum', amount }
}

/** A straight piece of a price: above `from`, up to and with `to`, the amount goes from `start` to `end`. */
export interface Piece {
  from: Ratio
  to: Ratio
  start: Ratio
  end: Ratio
}

/** The terms that depend on a quantity. */
type MeasuredTerms = Exclude<PriceTerms<Ratio>, { model: 'flat' }>

const HALF = ratioOf(1n, 2n)
const times = (ratio: Ratio, factor: bigint): Ratio => multiplyRatios(ratio, ratioOf(factor))
/** The most packages that are drawn as steps. */
const STEPS_MAX = 40
const STEPS = 6n

/** The quantities at which the price bends or jumps. */
function bendsOf(terms: MeasuredTerms): Ratio[] {
  const included = terms.includedQuantity
  const bends = isZeroRatio(included) ? [] : [included]
  if ('tiers' in terms)
    for (const { upTo } of terms.tiers) if (upTo !== null) bends.push(addRatios(included, upTo))
  return bends
}

/** The quantity up to which a price is drawn: beyond each of its bends, and where its bounds are met. */
export function drawnUntil(terms: MeasuredTerms): Ratio {
  const included = terms.includedQuantity
  const beyond = bendsOf(terms).map((bend) => divideRatios(times(bend, 3n), ratioOf(2n)))
  if (terms.model === 'package') return addRatios(included, times(terms.packageSize, STEPS))
  const unit = 'per' in terms ? terms.per : ratioOf(100n)
  const rate = costOf(terms, unit).exactAmount
  const bounds = [terms.minimumAmount, terms.maximumAmount].flatMap((bound) =>
    bound === null || isZeroRatio(rate) || 'tiers' in terms
      ? []
      : [addRatios(included, times(multiplyRatios(divideRatios(bound, rate), unit), 2n))],
  )
  return [...beyond, ...bounds].reduce(
    maxRatio,
    addRatios(included, isZeroRatio(included) ? unit : RATIO_ZERO),
  )
}

/**
 * Cuts a price into straight pieces, from 0 up to a quantity.
 *
 * The cost is straight between two bends, and each piece has its end but not its beginning. So the amount just after
 * the beginning follows from the middle and the end.
 */
export function piecesOf(terms: MeasuredTerms, until: Ratio): Piece[] {
  const bends = [...stepsOf(terms, until), ...bendsOf(terms)].filter(
    (bend) => compareRatios(bend, until) < 0 && compareRatios(bend, RATIO_ZERO) > 0,
  )
  const sorted = [...bends, until].sort(compareRatios)
  const costAt = (quantity: Ratio) => priceQuantity(terms, quantity).cost.exactAmount
  const pieces: Piece[] = []
  let from = RATIO_ZERO
  for (const to of sorted) {
    if (compareRatios(from, to) === 0) continue
    const [middle, end] = [costAt(multiplyRatios(addRatios(from, to), HALF)), costAt(to)]
    const piece = { from, to, start: subtractRatios(times(middle, 2n), end), end }
    pieces.push(...bounded(terms, piece))
    from = to
  }
  return pieces
}

/** The ends of packages. */
function stepsOf(terms: MeasuredTerms, until: Ratio): Ratio[] {
  if (terms.model !== 'package') return []
  const steps: Ratio[] = []
  for (let step = 1n; steps.length < STEPS_MAX; step++) {
    const at = addRatios(terms.includedQuantity, times(terms.packageSize, step))
    if (compareRatios(at, until) >= 0) break
    steps.push(at)
  }
  return steps
}

/** Cuts a piece where it meets a bound, and holds it within them. */
function bounded({ minimumAmount, maximumAmount }: MeasuredTerms, piece: Piece): Piece[] {
  const bounds = [minimumAmount, maximumAmount].filter((bound) => bound !== null)
  const cuts = bounds
    .flatMap((bound) => crossing(piece, bound) ?? [])
    .sort((a, b) => compareRatios(a.to, b.to))
  const hold = (amount: Ratio) => {
    const capped = maximumAmount === null ? amount : minRatio(amount, maximumAmount)
    return minimumAmount === null ? capped : maxRatio(capped, minimumAmount)
  }
  const pieces: Piece[] = []
  let { from, start } = piece
  for (const { to, end } of [...cuts, piece]) {
    pieces.push({ from, to, start: hold(start), end: hold(end) })
    ;[from, start] = [to, end]
  }
  return pieces
}

/** Where a piece crosses an amount between its ends. */
function crossing({ from, to, start, end }: Piece, amount: Ratio): { to: Ratio; end: Ratio } | undefined {
  const [before, after] = [compareRatios(start, amount), compareRatios(end, amount)]
  if (before === after || before === 0 || after === 0) return undefined
  const part = divideRatios(subtractRatios(amount, start), subtractRatios(end, start))
  return { to: addRatios(from, multiplyRatios(part, subtractRatios(to, from))), end: amount }
}

interface PriceMarks {
  box: PlotBox
  valueTicks: readonly Tick[]
  lineTicks: readonly Tick[]
  /** The line of the price, as the `d` of an SVG path. */
  path: string
  /** The ends of the pieces. */
  ends: readonly { x: number; y: number }[]
  toPoint: (quantity: Ratio, amount: Ratio) => { x: number; y: number }
}

/** A ratio for pixels. Both its parts may be too long for a float. */
function pixels({ numerator, denominator }: Ratio): number {
  const shift = 10n ** 9n
  const scaled = (numerator * shift) / denominator
  return Number(scaled) / Number(shift)
}

/** Turns the pieces of a price into a line. */
export function preparePrice(pieces: readonly Piece[], size: PlotSize): PriceMarks {
  const { box, ticks, toY } = valueAxis(
    pieces.flatMap(({ start, end }) => [pixels(start), pixels(end)]),
    size,
  )
  const until = pieces.at(-1)?.to ?? RATIO_ZERO
  const { ticks: lineTicks, toX } = lineAxis(0, pixels(until), box)
  const toPoint = (quantity: Ratio, amount: Ratio) => ({ x: toX(pixels(quantity)), y: toY(pixels(amount)) })
  const points = pieces.flatMap(({ from, to, start, end }) => [toPoint(from, start), toPoint(to, end)])
  return {
    box,
    valueTicks: ticks,
    lineTicks,
    path: points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x},${y}`).join(''),
    ends: pieces.map(({ to, end }) => toPoint(to, end)),
    toPoint,
  }
}
