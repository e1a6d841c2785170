import type { AccountKey } from '../../domain/account-key.ts'
import { REST } from '../../domain/billing/matches.ts'
import type { Rate } from '../../domain/billing/rate.ts'
import type { InvoiceLine } from '../../domain/billing/rate-usage.ts'
import { clampRange } from '../../domain/time-range.ts'
import type { Aggregation } from '../../domain/usage-aggregate.ts'
import { isMetric } from '../../domain/usage-source.ts'
import { quoteLiteral } from '../quote-literal.ts'
import { propertyPair, propertyToken } from './property-token.ts'

/**
 * A condition names up to this many pairs directly. If there are more, the condition has a list of tokens, which
 * ClickHouse turns into a hash table. So events are not compared with each token, and the query stays shorter than the
 * limit for analysts.
 */
const PAIRS_MAX = 20
const PAIRS_CHARACTERS_MAX = 8 * 1_024

// Tally rounds every average of usage to 18 decimal places, half to even. ClickHouse's division truncates. So the
// average is computed with integers, in units of the last place.
const UNITS = "toInt256(sum(quantity) * toDecimal256('1000000000000000000', 0))"
const EVENTS = 'toInt256(greatest(count(), 1))'
const QUOTIENT = `intDiv(abs(${UNITS}), ${EVENTS})`
const REMAINDER = `(abs(${UNITS}) % ${EVENTS})`
const ROUNDED = `${QUOTIENT} + (2 * ${REMAINDER} + ${QUOTIENT} % 2 > ${EVENTS})`
const MEASURES: Record<Aggregation, string> = {
  sum: 'sum(quantity)',
  count: 'count()',
  min: 'min(quantity)',
  max: 'max(quantity)',
  latest: 'argMax(quantity, (occurred_at, accepted_at, event_id))',
  avg: `sign(${UNITS}) * toDecimal256(${ROUNDED}, 0) * toDecimal256('0.000000000000000001', 18)`,
}

/**
 * The SELECT over the analysts' `events` that gives the quantity of a line of an invoice, to the last digit: one row
 * with one value, 0 without events. The query contains only the terms of this line, so its reader learns nothing beyond
 * the account's usage.
 *
 * @param account the account of the invoice
 * @param asOf Unix seconds; only usage that occurred before this counts
 * @returns undefined when the quantity is not measured
 */
export function invoiceLineQuery(
  { namespaceId, accountId }: AccountKey,
  { rate, value, startAt, endAt }: Pick<InvoiceLine, 'rate' | 'value' | 'startAt' | 'endAt'>,
  asOf: number,
): string | undefined {
  if (rate?.source == null) return undefined
  const range = clampRange({ startAt, endAt: Math.min(endAt, asOf) })
  const conditions = [
    `namespace_id = ${quoteLiteral(namespaceId)}`,
    `account_id = ${quoteLiteral(accountId)}`,
    `${isMetric(rate.source) ? 'metric_id' : 'currency'} = ${quoteLiteral(rate.source)}`,
    `occurred_at >= ${timeLiteral(range.startAt)}`,
    `occurred_at < ${timeLiteral(range.endAt)}`,
    ...propertyConditions(rate, value),
  ]
  return `SELECT ${MEASURES[rate.aggregation]}\nFROM events\nWHERE ${conditions.join('\n  AND ')}`
}

type Pair = readonly [property: string, value: string]

function propertyConditions({ filters, groupBy, prices }: Rate, value: InvoiceLine['value']): string[] {
  const conditions = filters.map(({ property, values }) => hasAny(values.map((one) => [property, one])))
  if (groupBy !== null)
    conditions.push(
      value === REST
        ? `NOT ${hasAny(prices.map((listed) => [groupBy, listed.value]))}`
        : hasAny([[groupBy, value]]),
    )
  return conditions
}

/** Whether an event has one of these properties. */
function hasAny(pairs: readonly Pair[]): string {
  const literals = pairs.map((pair) => quoteLiteral(propertyPair(...pair)))
  const characters = literals.reduce((sum, { length }) => sum + length, 0)
  if (pairs.length <= PAIRS_MAX && characters <= PAIRS_CHARACTERS_MAX)
    return `(${literals.map((pair) => `has(property_tokens, toFixedString(substring(SHA256(${pair}), 1, 12), 12))`).join(' OR ')})`
  const tokens = pairs.map((pair) => `'${propertyToken(...pair)}'`)
  return `arrayExists(token -> lower(hex(token)) IN (${tokens.join(', ')}), property_tokens)`
}

const timeLiteral = (second: number): string =>
  `toDateTime('${new Date(second * 1_000).toISOString().slice(0, 19).replace('T', ' ')}', 'UTC')`
