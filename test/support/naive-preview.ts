import type {
  ContractJson,
  InvoiceRequestJson,
  LineJson,
  PreviewJson,
  PreviewLineJson,
  WorldJson,
} from './billing-vectors.ts'
import { byStart, minorUnitsIn, naiveCard, naiveLine } from './naive-card.ts'
import { naiveCredit } from './naive-credit.ts'
import {
  fractionOf,
  greater,
  halfUp,
  minus,
  NOTHING,
  plus,
  readFraction,
  times,
  writeFraction,
} from './naive-fraction.ts'
import { naivePeriod, type NaiveRange } from './naive-periods.ts'
import { naiveKnown, naiveQuantity } from './naive-usage.ts'

/**
 * Rates a period of a contract by a second implementation, written directly from the definitions. It loops over lines,
 * rates, values and events, computes with fractions, and shares no code with the functions under test.
 *
 * @param request its `known_at` applies only to events, because a world has no times at which grants were made
 * @returns lines have the `value` null if their rate has no `group_by`, or if they have no rate
 */
export function naivePreview(world: WorldJson, request: InvoiceRequestJson): PreviewJson {
  const { contract } = world
  const whole = naivePeriod(contract, request.second)
  const period = within(contract, contract, whole)
  if (period === undefined || request.second < period.startAt || request.second >= period.endAt)
    throw new Error('the second lies outside the contract')
  const asOf = request.as_of ?? Infinity
  const minorUnits = minorUnitsIn(contract.currency)
  const events = naiveKnown(world.events, request.known_at ?? Infinity)

  const lines: PreviewLineJson[] = []
  const warnings: PreviewJson['warnings'] = []
  const unrated = new Map<string, PreviewJson['unrated'][number]>()
  let minimum = NOTHING
  for (const line of [...contract.lines].sort(byStart)) {
    const range = within(line, contract, whole)
    if (range === undefined) continue
    const share = { seconds: range.endAt - range.startAt, of: whole.endAt - whole.startAt }
    const piece = { line, share, ...range }
    if (line.minimum_amount !== undefined) {
      const ofPiece = times(readFraction(line.minimum_amount), fractionOf(share.seconds, share.of))
      minimum = plus(minimum, ofPiece)
    }
    if (line.price_id !== undefined) {
      const due = naiveLine(world, piece, line.price_id, line.quantity ?? '1', null)
      if (due !== null) lines.push(due)
    }
    if (line.rate_card_id !== undefined) {
      const end = Math.min(range.endAt, asOf)
      const counted = events.filter((event) => range.startAt <= event.occurred_at && event.occurred_at < end)
      const card = naiveCard(world, piece, counted)
      lines.push(...card.lines)
      warnings.push(...card.warnings)
      for (const some of card.left) {
        const source = some[0]?.source ?? ''
        const before = unrated.get(source) ?? { source, event_count: 0, quantity: '0' }
        const quantity = plus(readFraction(before.quantity), readFraction(naiveQuantity(some, 'sum')))
        const event_count = before.event_count + some.length
        unrated.set(source, { source, event_count, quantity: writeFraction(quantity) })
      }
    }
  }

  let subtotal = NOTHING
  for (const { amount } of lines) subtotal = plus(subtotal, readFraction(amount))
  const adjustment = greater(NOTHING, minus(halfUp(minimum, minorUnits), subtotal))
  const total = plus(subtotal, adjustment)
  const before = Math.min(period.endAt, asOf)
  return {
    period: { start_at: period.startAt, end_at: period.endAt },
    lines,
    subtotal: writeFraction(subtotal),
    minimum_adjustment: writeFraction(adjustment),
    total: writeFraction(total),
    ...naiveCredit({ contract, grants: world.grants ?? [], events, before, total, minorUnits }),
    unrated: [...unrated.values()].sort((a, b) => (a.source < b.source ? -1 : 1)),
    warnings,
  }
}

/** The part of a period in which both the entry and the contract are in force; undefined if it is empty. */
function within(
  entry: Pick<LineJson, 'starts_at' | 'ends_at'>,
  contract: ContractJson,
  period: NaiveRange,
): NaiveRange | undefined {
  const startAt = Math.max(period.startAt, entry.starts_at, contract.starts_at)
  const ends = [period.endAt, entry.ends_at, contract.ends_at, contract.cancel_at]
  const endAt = Math.min(...ends.map((end) => end ?? Infinity))
  return startAt < endAt ? { startAt, endAt } : undefined
}
