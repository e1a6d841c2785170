import { RATIO_ZERO, ratioOf } from '../../../shared/amount/ratio.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { ratedPeriodRepository } from '../../../shared/clickhouse/rated-periods.ts'
import type { DailyLine } from '../../../shared/domain/billing/daily-lines.ts'
import type { InvoiceLine } from '../../../shared/domain/billing/rate-usage.ts'
import type { RatedPeriod } from '../../../shared/domain/billing/rated-period.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'

const OTHER_NAMESPACE = '018cc251-f400-7000-8000-000000000002'
const HOUR_S = 3_600
const DAYS = 40
const ACCOUNTS = 16
export const TOKENS = `metric_${'1'.repeat(32)}`
export const CALLS = `metric_${'2'.repeat(32)}`
export const METRICS = new Map([
  [TOKENS, { name: `Tokens "in" \\ it's`, unit: 'tokens' }],
  [CALLS, { name: 'Calls', unit: "call's" }],
])
/** On these days ago nobody used tokens. */
const IDLE_DAYS = new Set([10, 11])
const NEVER_USED = new Set([12, 13])
const STOPPED = 11
/** It was created a few days ago, and its usage of all days was imported then. */
const IMPORTED = 5

interface AccountRow {
  account_id: string
  name: string
  customer_id: string | null
  created_at: number
  archived_at: number | null
}

interface GrantRow {
  grant_id: string
  account_id: string
  metric_id: string | null
  currency: string | null
  amount: string
  effective_at: number
  expires_at: number | null
  voided_at: number | null
  archived_at: number | null
}

export interface ContractRow {
  contract_id: string
  account_id: string
  name: string | null
  starts_at: number
  ends_at: number | null
  cancel_at: number | null
  cancel_reason: string | null
}

/** What a company has reported and noted. Times of rows are microseconds, as in their tables; others are seconds. */
export interface World {
  now: number
  today: number
  rows: UsageRows
  /** Of each event that was corrected, the report and its corrections, in order. */
  revised: UsageEvent[][]
  accounts: AccountRow[]
  customers: Map<string, string>
  grants: GrantRow[]
  contracts: ContractRow[]
  rated: RatedPeriod[]
}

export const accountId = (number: number): string => `account_${number.toString(16).padStart(32, '0')}`

/** A world of some accounts and 40 days that end today. The same numbers are drawn each time. */
export function makeWorld(): World {
  const now = Math.floor(Date.now() / 1_000)
  const today = Math.floor(now / DAY_S) * DAY_S
  const draw = drawer(20_260_101)
  const histories = reportsOf(now, today, draw).map((report, number) => historyOf(report, number, now))
  const rows = new UsageRows()
  rows.store(histories.flat())
  return {
    now,
    today,
    rows,
    revised: histories.filter(({ length }) => length > 1),
    accounts: accountsOf(today),
    customers: new Map([
      [`customer_${'1'.repeat(32)}`, `Müller's "Söhne"`],
      [`customer_${'2'.repeat(32)}`, 'Globex \\ Co.'],
    ]),
    grants: grantsOf(now),
    contracts: contractsOf(now),
    rated: ratedOf(today, drawer(20_260_102)),
  }
}

/** Numbers from 0 up to `below`: a linear congruential generator. */
function drawer(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return Math.floor((state / 2 ** 32) * below)
  }
}

function reportsOf(now: number, today: number, draw: (below: number) => number): UsageEvent[] {
  const reports: UsageEvent[] = []
  for (let daysAgo = DAYS; daysAgo >= 0; daysAgo--)
    for (let account = 0; account < ACCOUNTS; account++) {
      if (NEVER_USED.has(account) || (account === STOPPED && daysAgo < 20)) continue
      for (const source of [TOKENS, TOKENS, CALLS, 'usd']) {
        const second = draw(daysAgo === 0 ? now - today : DAY_S)
        const whole = draw(1_000) * (account + 1)
        const digits = `${draw(1e9)}`.padStart(9, '0')
        if (draw(4) === 0 || (source === TOKENS && IDLE_DAYS.has(daysAgo))) continue
        const occurredAt = today - daysAgo * DAY_S + second
        const lateS = reports.length % 9 === 0 ? 5 * HOUR_S : 2
        const acceptedAt = account === IMPORTED ? Math.max(occurredAt, today - 5 * DAY_S) : occurredAt + lateS
        reports.push(
          makeReport({
            key: `report ${reports.length}`,
            accountId: accountId(account),
            source,
            quantity: `${whole === 3 ? '-' : ''}${whole}.${digits}${digits.slice(0, 8)}1`,
            occurredAt,
            acceptedAt: acceptedAt * 1_000_000 + reports.length,
            ...propertiesOf(reports.length),
          }),
        )
      }
    }
  return reports
}

/** Some hold numbers of more than 64 bits, and digits in text that are as long. */
function propertiesOf(number: number): Pick<UsageEvent, 'properties' | 'propertyPairs'> {
  if (number % 11 === 0) return { properties: '{}', propertyPairs: [] }
  const model = ['small', 'medium', 'la"rge 1234567890123456789012'][number % 3] ?? ''
  const request_id = `request ${number}`
  const text = JSON.stringify({ model, request_id })
  return {
    properties: number % 7 === 0 ? `{"large":-123456789012345678901234567890,${text.slice(1)}` : text,
    propertyPairs: [`model=${model}`, `request_id=${request_id}`],
  }
}

/** A report and its corrections, some of them of today. */
function historyOf(report: UsageEvent, number: number, now: number): UsageEvent[] {
  const history = [report]
  const correct = (change: Partial<UsageEvent>, afterS: number) => {
    const last = history.at(-1) ?? report
    const earliest = (last.correctedAt ?? last.acceptedAt) + 1_000
    const correctedAt = Math.max(
      earliest,
      afterS > 0 ? report.acceptedAt + afterS * 1_000_000 : now * 1_000_000,
    )
    history.push(makeCorrection(last, { ...change, correctedAt }))
  }
  if (number % 10 === 3) correct({ quantity: '0.000000000000000007' }, HOUR_S)
  if (number % 30 === 3)
    correct({ quantity: `${number}.5`, properties: '{"model":"small"}' }, number % 60 === 3 ? 0 : 50 * HOUR_S)
  if (number % 17 === 5) correct({ voided: true }, number % 34 === 5 ? 0 : 30 * HOUR_S)
  return history
}

function accountsOf(today: number): AccountRow[] {
  return Array.from({ length: ACCOUNTS }, (_, number) => {
    const daysAgo = number === IMPORTED ? 5 : number > 12 ? (number - 12) * 9 : 100 + number
    return {
      account_id: accountId(number),
      name: number % 2 === 0 ? `it's "no. ${number}" \\ ü` : `Account ${number}`,
      customer_id: number % 3 === 0 ? null : `customer_${String(number % 3).repeat(32)}`,
      created_at: (today - daysAgo * DAY_S + HOUR_S) * 1_000_000,
      archived_at: number === 15 || number === 13 ? today * 1_000_000 : null,
    }
  })
}

function grantsOf(now: number): GrantRow[] {
  const at = (days: number | null) => (days === null ? null : (now + days * DAY_S) * 1_000_000)
  const forms = [
    { amount: '1000000.000000000000000001', from: -60, until: null },
    { amount: '250000.5', from: -30, until: 5 },
    { amount: '70000', from: -30, until: 9 },
    { amount: '1', from: -30, until: 20 },
    { amount: '5000000', from: -60, until: -1 },
    { amount: '6000000', from: 3, until: 8 },
    { amount: '7000000', from: -30, until: 4, voided: -2 },
    { amount: '8000000', from: -30, until: 4, archived: -2 },
  ]
  return forms.flatMap(({ amount, from, until, voided = null, archived = null }, form) =>
    [0, 1, 2, 3, 12].flatMap((account) =>
      ['usd', TOKENS].map((source) => ({
        grant_id: `grant_${[form, account, source.length].join('_')}`,
        account_id: accountId(account),
        metric_id: source === 'usd' ? null : source,
        currency: source === 'usd' ? source : null,
        // The second account has nearly nothing left.
        amount: account === 1 ? `${form + 1}` : amount,
        effective_at: at(from) ?? 0,
        expires_at: at(until),
        voided_at: at(voided),
        archived_at: at(archived),
      })),
    ),
  )
}

function contractsOf(now: number): ContractRow[] {
  const at = (days: number | null) => (days === null ? null : (now + days * DAY_S) * 1_000_000)
  const forms: [from: number, ends: number | null, cancel: number | null][] = [
    [-300, null, null],
    [-400, 20, null],
    [-400, 200, 10],
    [-200, null, 12],
    [-500, -100, null],
    [-250, null, -70],
    [-90, -40, -60],
    [-90, null, -90], // withdrawn
    [5, 15, null],
    [-20, null, null],
    [-35, 12, 28],
  ]
  return forms.map(([from, ends, cancel], number) => ({
    contract_id: `contract_${String(number).padStart(32, '0')}`,
    account_id: accountId(number % 5),
    name: number % 4 === 1 ? null : `it's contract "${number}"`,
    starts_at: at(from) ?? 0,
    ends_at: at(ends),
    cancel_at: at(cancel),
    cancel_reason: cancel === null ? null : `reason's ${number}`,
  }))
}

/** Periods of some accounts, in two currencies: usage by model and by region, seats, and usage without a rate. */
function ratedOf(today: number, draw: (below: number) => number): RatedPeriod[] {
  const forms: [
    kind: DailyLine['kind'],
    source: string | null,
    groupBy: string | null,
    value: string | null,
  ][] = [
    ['usage', TOKENS, 'model', 'small'],
    ['usage', TOKENS, 'model', `it's "large" \\`],
    ['usage', TOKENS, 'model', null],
    ['usage', CALLS, 'region', 'small'],
    ['usage', 'usd', null, null],
    ['fixed', null, null, null],
    ['unrated', CALLS, null, null],
    ['unrated', 'usd', null, null],
  ]
  return [0, 1, 2, 3].map((number) => ({
    contractId: `contract_${String(number).padStart(32, '0')}`,
    accountId: accountId(number),
    customerId: null,
    currency: number === 3 ? 'eur' : 'usd',
    period: { startAt: today - 20 * DAY_S, endAt: today + 10 * DAY_S },
    asOf: today,
    usageAsOf: today,
    changedAt: new Date(0),
    lines: Array.from({ length: 160 }, (): DailyLine => {
      const [kind, source, groupBy, value] = forms[draw(forms.length)] ?? ['fixed', null, null, null]
      const quantity = ratioOf(BigInt(draw(1e9)) * 10n ** 9n + BigInt(draw(1e9)), 10n ** 18n)
      const rate = { id: 'rate', source, aggregation: 'sum', groupBy }
      const price = { id: 'price', productId: 'product', currency: 'usd', terms: { model: 'flat' } }
      const amount = kind === 'unrated' ? RATIO_ZERO : ratioOf(BigInt(draw(1e9)) * 10n ** 9n + 1n, 10n ** 18n)
      const measures = { quantity, events: BigInt(draw(9)), exactAmount: amount, amount }
      return {
        day: today / DAY_S - draw(20),
        kind,
        line:
          kind === 'unrated' ? undefined : ({ lineId: 'line', rate, price, value } as unknown as InvoiceLine),
        source,
        startAt: today - 20 * DAY_S,
        added: measures,
        toDate: measures,
      }
    }),
  }))
}

/** Stores a world as the services do, and another company's usage of the same accounts beside it. */
export async function storeWorld({ client }: OpenedClickHouse, world: World): Promise<void> {
  const { today, rows, revised, accounts, customers, grants, contracts, rated } = world
  const others = [0, 1, 2, 3, 20].map((daysAgo) =>
    makeReport({
      namespaceId: OTHER_NAMESPACE,
      accountId: accountId(0),
      source: TOKENS,
      quantity: '99999999',
      occurredAt: today - daysAgo * DAY_S,
      propertyPairs: ['request_id=request 100'],
    }),
  )
  const stored = [...rows.newest(NAMESPACE), ...revised.flat(), ...others]
  await usageEventRepository(client).insertLines(Buffer.from(stored.map(usageEventToLine).join('\n')))
  const common = { namespace_id: NAMESPACE, created_at: 0, updated_at: 0, version: '1', is_deleted: 0 }
  const insert = (name: string, values: readonly object[]) =>
    client.insert({
      table: `dimension_${name}`,
      values: values.map((value) => ({ ...common, ...value })),
      format: 'JSONEachRow',
    })
  await insert('accounts', accounts)
  await insert('accounts', [
    { ...common, namespace_id: OTHER_NAMESPACE, account_id: accountId(0), name: 'other' },
  ])
  await insert(
    'customers',
    [...customers].map(([customer_id, name]) => ({ customer_id, name })),
  )
  await insert(
    'metrics',
    [...METRICS].map(([metric_id, { name, unit }]) => ({ metric_id, name, measurement_units: unit })),
  )
  await insert('grants', grants)
  await insert('contracts', contracts)
  const periods = ratedPeriodRepository(client)
  const states = { version: 1, ratedAt: 1, isFinal: false, basis: '' }
  for (const period of rated) {
    await periods.store(NAMESPACE, period, states)
    await periods.store(OTHER_NAMESPACE, period, states)
  }
  await insert(
    'event_revisions',
    revised.flatMap((history) => history.map(revisionRow)),
  )
}

const revisionRow = (event: UsageEvent, revision: number): object => ({
  event_id: event.id,
  revision,
  account_id: event.accountId,
  metric_id: event.source === 'usd' ? null : event.source,
  currency: event.source === 'usd' ? 'usd' : null,
  quantity: event.quantity,
  properties: event.properties,
  voided: Number(event.voided),
  accepted_at: event.acceptedAt,
  corrected_at: event.correctedAt,
  key_id: revision === 0 ? null : 'key_1',
})
