import { expect } from 'chai'
import type { RollupPoint } from '../../services/rollup/crash-points.ts'
import { changedContractRater } from '../../services/rollup/rate-changed.ts'
import { contractRater } from '../../services/rollup/rate-contracts.ts'
import { formatRatio, parseRatio, roundHalfUp } from '../../shared/amount/ratio.ts'
import { type ClickHouse, queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
import { ratedPeriodRepository, ratingRunRepository } from '../../shared/clickhouse/rated-periods.ts'
import { ratedUsageReader } from '../../shared/clickhouse/usage/rated-usage.ts'
import { rawReadSemaphore } from '../../shared/clickhouse/usage/raw-read-semaphore.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { type RatePeriods, ratePeriods } from '../../shared/previews/rate-period.ts'
import type { PreviewBody } from './billing-over-http.ts'

const never = new AbortController().signal
const FAR_FUTURE = (2 ** 32 - 1) * 1_000_000

/** Rates contracts as the rollup service does, run by run, and between runs turn by turn. */
export function openRater(
  { pool, clickhouse }: { pool: Pool; clickhouse: ClickHouse },
  reached: (point: RollupPoint) => void = () => undefined,
  besides: () => Promise<unknown> = () => Promise.resolve(),
) {
  const listedUpTo = () => Promise.resolve(FAR_FUTURE)
  const rated = ratedPeriodRepository(clickhouse)
  const read = ratePeriods({ pool, usage: ratedUsageReader(clickhouse, rawReadSemaphore()), listedUpTo })
  const unreadable = new Set<string>()
  const sizes: { namespaceId: string; periods: number }[] = []
  const rating: RatePeriods = async (namespaceId, requests, ...rest) => {
    if (requests.some(({ contractId }) => unreadable.has(contractId))) throw new Error('cannot be read')
    const rates = await read(namespaceId, requests, ...rest)
    sizes.push({ namespaceId, periods: rates.length })
    return rates
  }
  let count = 0
  const onRated = () => {
    count++
  }
  const runs = ratingRunRepository(clickhouse)
  const parts = {
    pool,
    rated,
    copies: dimensionRepository(clickhouse),
    ratePeriods: rating,
    reached,
    onRated,
  }
  const run = contractRater({ ...parts, runs, listedUpTo, besides })
  const failed: string[] = []
  const changed = changedContractRater(
    { ...parts, lastDueAt: () => Date.now() / 1_000, onFailed: (contractId) => failed.push(contractId) },
    0,
  )
  return {
    /** Contracts that could not be rated between runs. */
    failed,
    /** Contracts that cannot be read. */
    unreadable,
    /** How many periods of a namespace were read together, each time. */
    together: (namespaceId: string) =>
      sizes.filter((one) => one.namespaceId === namespaceId).map(({ periods }) => periods),
    /** A turn of a contract that was changed. @returns how many periods were rated; undefined if nothing was to do */
    async turn(): Promise<number | undefined> {
      const before = count
      return (await changed.turn(never)) ? count - before : undefined
    },
    /** Turns until nothing is left to do. @returns how many periods were rated */
    async turnAll(): Promise<number> {
      const before = count
      while (await changed.turn(never));
      return count - before
    },
    /** A run that is due now. @returns how many periods were rated */
    async run(options: { dueAt?: number; until?: number; signal?: AbortSignal } = {}): Promise<number> {
      const before = count
      const dueAt = options.dueAt ?? Date.now() / 1_000
      await run({
        dueAt: Math.floor(dueAt),
        until: options.until ?? Infinity,
        signal: options.signal ?? never,
      })
      return count - before
    },
    /** Rates one period and stores it. */
    async rateOne(namespaceId: string, contractId: string, at: number, now: number): Promise<void> {
      const [rate] = await rating(namespaceId, [{ contractId, at }], now, never)
      const made = await rate?.()
      if (made === undefined) throw new Error('no such contract')
      const ratedAt = Date.now() * 1_000
      await rated.store(namespaceId, made, { version: ratedAt, ratedAt, isFinal: false, basis: '' })
    },
  }
}

/** A line of a period, summed over days. Numbers are text. */
export interface SummedLine {
  contract_id: string
  period_start: number
  period_end: number
  kind: string
  contract_line_id: string | null
  start_at: number
  rate_id: string | null
  value: string | null
  product_id: string | null
  price_id: string | null
  metric_id: string | null
  usage_currency: string | null
  currency: string
  account_id: string
  is_unrated: boolean
  is_final: boolean
  quantity: string
  events: string
  exact_amount: string
  amount: string
  quantity_to_date: string
  exact_to_date: string
  amount_to_date: string
}

/** The lines of a view, summed over the days up to one. @param view with its database */
export const sumLines = (
  client: ClickHouse,
  view: string,
  namespaceId: string,
  upTo = '2149-06-06',
): Promise<SummedLine[]> =>
  queryRows<SummedLine>(
    client,
    `SELECT contract_id, toUInt32(period_starts_at) AS period_start, toUInt32(any(period_ends_at)) AS period_end, kind,
      contract_line_id, toUInt32(starts_at) AS start_at, rate_id, value, any(product_id) AS product_id,
      any(price_id) AS price_id, metric_id, usage_currency, any(currency) AS currency, any(account_id) AS account_id,
      any(is_unrated) AS is_unrated, any(is_final) AS is_final,
      sum(quantity) AS quantity, toString(sum(events)) AS events, sum(exact_amount) AS exact_amount, sum(amount) AS amount,
      argMax(quantity_to_date, day) AS quantity_to_date, argMax(exact_amount_to_date, day) AS exact_to_date,
      argMax(amount_to_date, day) AS amount_to_date
    FROM ${view} WHERE namespace_id = {namespaceId:String} AND day <= {upTo:Date}
    GROUP BY contract_id, period_starts_at, kind, contract_line_id, starts_at, rate_id, value, metric_id, usage_currency
    ORDER BY ALL`,
    { namespaceId, upTo },
  )

/** Requires that the lines of a period are those of its preview, to the digit. */
export function expectLikePreview(lines: readonly SummedLine[], preview: PreviewBody, what = ''): void {
  const ofKind = (...kinds: string[]) => lines.filter(({ kind }) => kinds.includes(kind))
  const inOrder = (items: readonly object[]) => items.map((item) => JSON.stringify(item)).sort()
  const charged = ofKind('usage', 'fixed').map((one) => ({
    line: one.contract_line_id,
    kind: one.kind,
    rate: one.rate_id,
    value: one.value,
    start: one.start_at,
    product: one.product_id,
    price: one.price_id,
    metric: one.metric_id,
    usage_currency: one.usage_currency,
    quantity: [one.quantity, one.quantity_to_date],
    events: one.events,
    exact: one.exact_amount,
    exact_to_date: one.exact_to_date,
    amount: [one.amount, one.amount_to_date],
  }))
  expect(inOrder(charged), what).to.deep.equal(
    inOrder(
      preview.lines.map((line) => ({
        line: line.contract_line_id,
        kind: line.event_count === null ? 'fixed' : 'usage',
        rate: line.rate_id,
        value: line.value,
        start: line.start_at,
        product: line.product_id,
        price: line.price.id,
        metric: line.metric_id,
        usage_currency: line.currency,
        quantity: [line.quantity, line.quantity],
        events: String(line.event_count ?? 0),
        exact: formatRatio(roundHalfUp(ratioOfText(line.exact_amount), 18)),
        exact_to_date: line.exact_amount,
        amount: [line.amount, line.amount],
      })),
    ),
  )
  expect(
    inOrder(
      ofKind('unrated').map((one) => [
        one.metric_id,
        one.usage_currency,
        one.events,
        one.quantity,
        one.is_unrated,
        one.amount,
      ]),
    ),
    what,
  ).to.deep.equal(
    inOrder(
      preview.unrated.map((one) => [
        one.metric_id,
        one.currency,
        String(one.event_count),
        one.quantity,
        true,
        '0',
      ]),
    ),
  )
  // What a minimum added is taken back by usage that comes later.
  const added = ofKind('minimum').filter(({ amount }) => amount !== '0')
  expect(
    added.map(({ amount, exact_amount }) => [amount, exact_amount]),
    what,
  ).to.deep.equal(
    preview.minimum_adjustment === '0' ? [] : [[preview.minimum_adjustment, preview.minimum_adjustment]],
  )
  const total = lines.reduce((sum, { amount }) => sum + scaled(amount), 0n)
  expect(total, what).to.equal(scaled(preview.total))
  for (const one of lines) {
    expect([one.period_start, one.currency, one.account_id], what).to.deep.equal([
      preview.period.start_at,
      preview.currency,
      preview.account_id,
    ])
    expect(one.period_end, what).to.equal(preview.period.end_at)
  }
}

const ratioOfText = (text: string) => {
  const [numerator = '', denominator] = text.split('/')
  const ratio = parseRatio(numerator)
  return denominator === undefined
    ? ratio
    : { ...ratio, denominator: ratio.denominator * BigInt(denominator) }
}

const scaled = (text: string): bigint => {
  const { numerator, denominator } = parseRatio(text)
  return (numerator * 10n ** 18n) / denominator
}
