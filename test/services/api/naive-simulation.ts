import type { ContractJson, LineJson, TimesJson, WorldJson } from '../../support/billing-vectors.ts'
import { naiveCard } from '../../support/naive-card.ts'
import { NOTHING, plus, readFraction, writeFraction } from '../../support/naive-fraction.ts'
import { naivePeriod, type NaiveRange } from '../../support/naive-periods.ts'
import { naiveKnown } from '../../support/naive-usage.ts'

/** The simulation of an account by one card. */
export interface NaiveSimulation extends NaiveRange {
  cadence?: TimesJson['cadence']
  cardId: string
  /** The second whose rates apply. */
  ratesAt: number
  /** The line whose overrides and discount apply. */
  line?: LineJson | undefined
}

/**
 * Computes the amount of an account by a card, with a second implementation from the definitions. It rates each period
 * as a whole period.
 */
export function naiveSimulated(world: WorldJson, simulation: NaiveSimulation): string {
  const { startAt, endAt, cadence, cardId, ratesAt } = simulation
  const rates = []
  for (const rate of world.rate_cards[cardId] ?? [])
    if (rate.starts_at <= ratesAt && ratesAt < (rate.ends_at ?? Infinity))
      rates.push({ ...rate, starts_at: 0, ends_at: Infinity })
  const line = { id: 'line', starts_at: 0, ...simulation.line, rate_card_id: cardId }
  const events = naiveKnown(world.events, Infinity)
  let total = NOTHING
  for (let from = startAt; from < endAt;) {
    const whole = cadence === undefined ? endAt : naivePeriod({ anchor_at: startAt, cadence }, from).endAt
    const to = Math.min(whole, endAt)
    const piece = { line, startAt: from, endAt: to, share: { seconds: 1, of: 1 } }
    const used = events.filter((event) => from <= event.occurred_at && event.occurred_at < to)
    for (const { amount } of naiveCard({ ...world, rate_cards: { [cardId]: rates } }, piece, used).lines)
      total = plus(total, readFraction(amount))
    from = to
  }
  return writeFraction(total)
}

/** Finds the line by which the account follows a card at a second. */
export function naiveFollowed(contract: ContractJson, second: number): LineJson | undefined {
  const end = Math.min(contract.ends_at ?? Infinity, contract.cancel_at ?? Infinity)
  if (second < contract.starts_at || second >= end) return undefined
  for (const line of contract.lines)
    if (line.rate_card_id !== undefined && line.starts_at <= second && second < (line.ends_at ?? Infinity))
      return line
  return undefined
}
