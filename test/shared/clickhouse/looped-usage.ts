import { formatAmount } from '../../../shared/amount/amount.ts'
import { formatRatio, parseRatio, sumRatios } from '../../../shared/amount/ratio.ts'
import type { RatedPlan, RatedUsage } from '../../../shared/clickhouse/usage/rated-usage.ts'
import type { UsageRow } from '../../../shared/domain/billing/rate-usage.ts'
import type { Properties } from '../../../shared/domain/properties.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { readUsage } from '../../support/billing-vectors.ts'

/** Computes usage by a plain loop over the events that count. */
export function looped(plan: RatedPlan, events: readonly UsageEvent[]): RatedUsage {
  const own = events.filter(({ accountId }) => accountId === plan.contract.accountId)
  const inPlan = readUsage(
    plan,
    own.map((one) => ({
      id: one.id,
      source: one.source,
      quantity: one.quantity,
      occurred_at: one.occurredAt,
      accepted_at: one.acceptedAt / 1_000_000,
      properties: JSON.parse(one.properties) as Properties,
    })),
  )
  const ofCredit = own.filter(
    ({ source, occurredAt }) => source === plan.contract.currency && occurredAt < plan.creditBefore,
  )
  return {
    usage: new Map([...inPlan].filter(([, rows]) => rows.length > 0)),
    currencyUsage: sumRatios(ofCredit.map((one) => parseRatio(one.quantity))),
  }
}

/** Text that is equal for equal usage, in any order of the rows. */
export const shown = ({ usage, currencyUsage }: RatedUsage) => ({
  usage: shownRows({ usage }),
  currencyUsage: formatRatio(currencyUsage),
})

/** Text of the pieces' usage only. */
export const shownRows = ({ usage }: Pick<RatedUsage, 'usage'>) =>
  Object.fromEntries([...usage].map(([piece, rows]) => [piece, rows.map(shownRow).sort()]))

const shownRow = ({ source, properties: named, usage }: UsageRow): string =>
  JSON.stringify([
    source,
    Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)),
    usage.count.toString(),
    ...[usage.sum, usage.min, usage.max, usage.latest.quantity].map(formatAmount),
    usage.latest.occurredAt,
    usage.latest.acceptedAt,
    usage.latest.id,
  ])
