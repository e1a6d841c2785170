import {
  addAmounts,
  type Amount,
  compareAmounts,
  formatAmount,
  parseAmount,
  subtractAmounts,
  ZERO,
} from '../../../shared/amount/amount.ts'
import { formatRatio, type Ratio, sumRatios } from '../../../shared/amount/ratio.ts'
import type { DailyLine } from '../../../shared/domain/billing/daily-lines.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { formatMicros } from '../../../shared/time/micros-text.ts'
import { NAMESPACE } from '../../support/usage-event.ts'
import { accountId, CALLS, type ContractRow, METRICS, TOKENS, type World } from './question-world.ts'

type Row = Record<string, unknown>

/** A question with what was chosen, and its answer by a plain loop. */
export interface Answered {
  file: string
  params: Record<string, string>
  rows: Row[]
}

/** India's time, which is as long ahead of UTC all year. */
const ZONE = 'Asia/Kolkata'
const ZONE_S = 19_800
const HOUR_S = 3_600
const MODELS = ['small', 'medium', 'la"rge 1234567890123456789012']
const ONE = 10n ** 18n

const amountOf = ({ quantity }: UsageEvent): Amount => parseAmount(quantity)
const countedOf = (event: UsageEvent): Amount => (event.voided ? ZERO : amountOf(event))
const total = (amounts: readonly Amount[]): Amount => amounts.reduce(addAmounts, ZERO)
const sum = (events: readonly UsageEvent[]): string => formatAmount(total(events.map(amountOf)))
const dateOf = (second: number): string => new Date(second * 1_000).toISOString().slice(0, 10)
const timeOf = (second: number): string =>
  new Date(second * 1_000).toISOString().slice(0, 19).replace('T', ' ')
const microsText = (micros: number): string => formatMicros(micros).replace('T', ' ').replace('Z', '')
const ratio = (a: string, b: string): number => Number(a) / Number(b)
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const of = (source: string) => (event: UsageEvent) => event.source === source
const metricOf = (source: string): Row => ({
  metric_id: source === 'usd' ? null : source,
  currency: source === 'usd' ? source : null,
})
const metricName = (source: string): string => METRICS.get(source)?.name ?? source

function groups<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>()
  for (const one of list) found.set(keyOf(one), [...(found.get(keyOf(one)) ?? []), one])
  return found
}

/** The first day of a month, so many months from another day's. */
function monthOf(second: number, later = 0): number {
  const date = new Date(second * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1) / 1_000
}

/** The answers to all questions about a world. */
export function answersOf(world: World): Answered[] {
  const events = world.rows.counting(NAMESPACE)
  return [
    ...answersByDay(world, events),
    ...answersByAccount(world, events),
    ...answersByMonth(world, events),
    ...answersOfEvents(world, events),
    ...answersOfCorrections(world),
    ...answersOfGrants(world, events),
    ...answersOfContracts(world),
    ...answersOfRated(world),
  ]
}

const daysUpTo = (end: number, count: number): number[] =>
  Array.from({ length: count }, (_, n) => end - (count - n) * DAY_S)

const inDay =
  (day: number, shift = 0) =>
  ({ occurredAt }: UsageEvent): boolean =>
    occurredAt + shift >= day && occurredAt + shift < day + DAY_S

function answersByDay(world: World, events: readonly UsageEvent[]): Answered[] {
  const { now, today } = world
  const days = daysUpTo(today, 30)
  const tokens = events.filter(of(TOKENS))
  const modelOf = ({ properties }: UsageEvent) =>
    MODELS.find((model) => properties.includes(`"model":${JSON.stringify(model)}`)) ?? ''
  const here = Math.floor((now + ZONE_S) / DAY_S) * DAY_S
  const hours = Array.from({ length: 7 * 24 }, (_, n) => here - 7 * DAY_S + n * HOUR_S - ZONE_S)
  const metric = { metric: TOKENS }
  return [
    {
      file: '01-usage-by-model-by-day',
      params: metric,
      rows: ['', ...MODELS].sort(byText).flatMap((model) =>
        days.map((day) => {
          const found = tokens.filter(inDay(day)).filter((event) => modelOf(event) === model)
          return { model, day: dateOf(day), quantity: sum(found), events: found.length }
        }),
      ),
    },
    {
      file: '03-daily-active-accounts',
      params: {},
      rows: days.map((day) => ({
        day: dateOf(day),
        active_accounts: groups(events.filter(inDay(day)), (event) => event.accountId).size,
      })),
    },
    {
      file: '09-usage-by-hour-in-a-zone',
      params: { ...metric, zone: ZONE },
      rows: hours.map((hour) => ({
        hour_there: timeOf(hour + ZONE_S),
        hour_utc: timeOf(hour),
        quantity: sum(tokens.filter((one) => one.occurredAt >= hour && one.occurredAt < hour + HOUR_S)),
      })),
    },
    {
      file: '10-usage-by-day-in-a-zone',
      params: { ...metric, zone: ZONE },
      rows: daysUpTo(here, 30).map((day) => {
        const found = tokens.filter(inDay(day, ZONE_S))
        return { day: dateOf(day), quantity: sum(found), events: found.length }
      }),
    },
    { file: '11-unusual-days', params: { ...metric, times: '2' }, rows: unusualDays(days, tokens) },
    { file: '12-forecast', params: metric, rows: forecast(today, tokens) },
  ]
}

const scaled = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(`${whole}${fraction.padEnd(18, '0')}`)
}

/** The mean has 18 places, and what is beyond is cut off. */
function unusualDays(days: readonly number[], tokens: readonly UsageEvent[]): Row[] {
  const of = (day: number) => scaled(sum(tokens.filter(inDay(day))))
  const textOf = (value: bigint) =>
    formatAmount(parseAmount(`${value / ONE}.${String(value % ONE).padStart(18, '0')}`))
  return days.map((day) => {
    const mean = [1, 2, 3, 4, 5, 6, 7].reduce((all, ago) => all + of(day - ago * DAY_S), 0n) / 7n
    return {
      day: dateOf(day),
      quantity: textOf(of(day)),
      mean_before: textOf(mean),
      is_unusual: Number(of(day) > mean * 2n || of(day) * 2n < mean),
    }
  })
}

/** Least squares. */
function forecast(today: number, tokens: readonly UsageEvent[]): Row[] {
  const points = daysUpTo(today, 28).map((day, x) => ({ x, y: Number(sum(tokens.filter(inDay(day)))) }))
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const [mx, my] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))]
  const slope =
    mean(points.map(({ x, y }) => (x - mx) * (y - my))) / mean(points.map(({ x }) => (x - mx) ** 2))
  return Array.from({ length: 30 }, (_, n) => ({
    day: dateOf(today + n * DAY_S),
    forecast: Math.max(0, my + slope * (28 + n - mx)),
  }))
}

/** Those of the month of 20 days ago. */
const inMonth = ({ today }: World) => {
  const start = monthOf(today - 20 * DAY_S)
  return ({ occurredAt }: UsageEvent) => occurredAt >= start && occurredAt < monthOf(start, 1)
}

/** What accounts used, most first. */
const byAccount = (events: readonly UsageEvent[]) =>
  [...groups(events, (event) => event.accountId)]
    .map(([account, found]) => ({ account, used: total(found.map(amountOf)) }))
    .sort((a, b) => compareAmounts(b.used, a.used) || byText(a.account, b.account))

function answersByAccount(world: World, events: readonly UsageEvent[]): Answered[] {
  const { today, accounts } = world
  const month = dateOf(today - 20 * DAY_S)
  const nameOf = (account: string) => accounts.find((one) => one.account_id === account)?.name
  const monthly = events.filter(inMonth(world))
  const largest = byAccount(monthly.filter(of(TOKENS)))
  const [ten, all] = [largest.slice(0, 10), largest].map((list) =>
    formatAmount(total(list.map(({ used }) => used))),
  )
  const lastDay = (account: string) =>
    dateOf(Math.max(...events.filter((one) => one.accountId === account).map((one) => one.occurredAt)))
  const isUsed = (account: string) => events.some((one) => one.accountId === account)
  const stopped = accounts
    .filter((one) => one.archived_at === null)
    .map(({ account_id, name }) => ({
      account_id,
      name,
      last_day: isUsed(account_id) ? lastDay(account_id) : null,
    }))
    .filter(({ last_day }) => last_day === null || last_day < dateOf(today - 7 * DAY_S))
  return [
    {
      file: '02-top-accounts',
      params: { metric: TOKENS, month },
      rows: largest.slice(0, 10).map(({ account, used }) => ({
        account_id: account,
        name: nameOf(account),
        quantity: formatAmount(used),
      })),
    },
    {
      file: '15-one-account-in-a-month',
      params: { account: accountId(3), month },
      rows: [TOKENS, CALLS, 'usd'].map((source) => {
        const found = monthly.filter((one) => one.accountId === accountId(3) && one.source === source)
        const { name = '', unit = '' } = METRICS.get(source) ?? {}
        return { ...metricOf(source), metric: name, unit, quantity: sum(found), events: found.length }
      }),
    },
    {
      file: '16-accounts-that-stopped',
      params: { days: '7' },
      rows: [...stopped].sort(
        (a, b) => byText(b.last_day ?? '', a.last_day ?? '') || byText(a.account_id, b.account_id),
      ),
    },
    { file: '17-new-accounts-by-week', params: {}, rows: newAccounts(world, isUsed) },
    {
      file: '18-share-of-the-ten-largest',
      params: { metric: TOKENS, month },
      rows: [
        { of_ten_largest: ten, of_all: all, accounts: largest.length, share: ratio(ten ?? '', all ?? '') },
      ],
    },
    { file: '21-usage-by-customer', params: { month }, rows: byCustomer(world, monthly) },
  ]
}

function newAccounts({ today, accounts }: World, isUsed: (account: string) => boolean): Row[] {
  const monday = today - ((new Date(today * 1_000).getUTCDay() + 6) % 7) * DAY_S
  return Array.from({ length: 12 }, (_, n) => monday - (11 - n) * 7 * DAY_S).map((week) => {
    const found = accounts.filter(
      ({ created_at }) => created_at >= week * 1e6 && created_at < (week + 7 * DAY_S) * 1e6,
    )
    return {
      week: dateOf(week),
      created_accounts: found.length,
      accounts_with_usage: found.filter((one) => isUsed(one.account_id)).length,
      is_over: Number(week < monday),
    }
  })
}

function byCustomer({ now, accounts, customers, contracts }: World, monthly: readonly UsageEvent[]): Row[] {
  const isInForce = ({ starts_at, ends_at, cancel_at }: ContractRow) =>
    starts_at <= now * 1e6 && (ends_at ?? Infinity) > now * 1e6 && (cancel_at ?? Infinity) > now * 1e6
  const rows = [...groups(monthly, (one) => `${one.accountId} ${one.source}`)].map(([key, found]) => {
    const [account_id = '', source = ''] = key.split(' ')
    const account = accounts.find((one) => one.account_id === account_id)
    return {
      customer: customers.get(account?.customer_id ?? '') ?? '',
      account_id,
      account: account?.name ?? '',
      contracts: contracts
        .filter((one) => one.account_id === account_id && isInForce(one))
        .map((one) => one.name ?? one.contract_id)
        .sort(byText),
      metric_or_currency: metricName(source),
      unit: METRICS.get(source)?.unit ?? source,
      quantity: sum(found),
    }
  })
  const order = (row: (typeof rows)[number]) =>
    [row.customer, row.account, row.account_id, row.metric_or_currency].join('\n')
  return rows.sort((a, b) => Buffer.compare(Buffer.from(order(a)), Buffer.from(order(b))))
}

function answersByMonth(world: World, events: readonly UsageEvent[]): Answered[] {
  const { today } = world
  const tokens = events.filter(of(TOKENS))
  const first = monthOf(Math.min(...tokens.map((one) => one.occurredAt)))
  const months: number[] = []
  for (let month = first; month <= today; month = monthOf(month, 1)) months.push(month)
  const used = (month: number) =>
    sum(tokens.filter((one) => one.occurredAt >= month && one.occurredAt < monthOf(month, 1)))
  const start = monthOf(today - 20 * DAY_S)
  const days: number[] = []
  for (let day = start; day < monthOf(start, 1) && day <= today; day += DAY_S) days.push(day)
  return [
    {
      file: '06-month-over-month',
      params: { metric: TOKENS },
      rows: months.map((month) => {
        const previous = month === first ? null : used(monthOf(month, -1))
        const isOver = month < monthOf(today)
        const change =
          previous === null
            ? '0'
            : formatAmount(subtractAmounts(parseAmount(used(month)), parseAmount(previous)))
        return {
          month: dateOf(month),
          quantity: used(month),
          previous,
          is_over: Number(isOver),
          growth: isOver && previous !== null ? ratio(change, previous) : null,
        }
      }),
    },
    {
      file: '13-cumulative-usage-in-a-month',
      params: { metric: TOKENS, month: dateOf(today - 20 * DAY_S) },
      rows: days.map((day) => ({
        day: dateOf(day),
        quantity: sum(tokens.filter(inDay(day))),
        cumulative: sum(tokens.filter((one) => one.occurredAt >= start && one.occurredAt < day + DAY_S)),
      })),
    },
    { file: '04-cohorts-and-retention', params: { metric: TOKENS }, rows: cohorts(world, tokens, months) },
  ]
}

function cohorts(
  { today, accounts }: World,
  tokens: readonly UsageEvent[],
  months: readonly number[],
): Row[] {
  const used = [...groups(tokens, (one) => one.accountId)].map(([account, found]) => ({
    first: Math.min(...found.map((one) => one.occurredAt)),
    months: new Set(found.map((one) => monthOf(one.occurredAt))),
    createdAt: (accounts.find((one) => one.account_id === account)?.created_at ?? 0) / 1e6,
  }))
  return months.flatMap((cohort) => {
    const found = used.filter(({ first }) => monthOf(first) === cohort)
    if (found.length === 0) return []
    return months
      .filter((month) => month >= cohort)
      .map((month, later) => {
        const active = found.filter((one) => one.months.has(month)).length
        return {
          cohort: dateOf(cohort),
          months_later: later,
          active_accounts: active,
          cohort_accounts: found.length,
          share: active / found.length,
          imported_accounts: found.filter(({ first, createdAt }) => dateOf(first) < dateOf(createdAt)).length,
          is_over: Number(month < monthOf(today)),
        }
      })
  })
}

function answersOfEvents(world: World, events: readonly UsageEvent[]): Answered[] {
  const { today, accounts } = world
  const days = daysUpTo(today, 30)
  const createdAt = new Map(accounts.map((one) => [one.account_id, one.created_at / 1e6]))
  const isImport = (one: UsageEvent) => one.occurredAt < (createdAt.get(one.accountId) ?? 0)
  const isLate = (one: UsageEvent) => one.acceptedAt > (one.occurredAt + 3 * HOUR_S) * 1e6
  const weekly = events.filter((one) => one.occurredAt >= today - 7 * DAY_S && one.occurredAt < today)
  const keys = groups(
    weekly.flatMap((event) =>
      Object.keys(JSON.parse(event.properties) as object).map((key) => ({ key, event })),
    ),
    ({ key }) => key,
  )
  const last = events
    .filter((one) => one.accountId === accountId(4) && one.occurredAt >= today - 40 * DAY_S)
    .sort((a, b) => b.occurredAt - a.occurredAt || byText(b.id, a.id))
  const request = weekly.find((one) => one.propertyPairs.length > 0)
  const requestId = /request \d+/.exec(request?.properties ?? '')?.[0] ?? ''
  return [
    {
      file: '05-quantity-per-event',
      params: { metric: TOKENS },
      rows: percentiles(days, events.filter(of(TOKENS))),
    },
    {
      file: '07-late-usage',
      params: { hours: '3' },
      rows: days.map((day) => {
        const found = events.filter(inDay(day))
        const rest = found.filter((one) => !isImport(one))
        const late = rest.filter(isLate).length
        return {
          day: dateOf(day),
          events: found.length,
          imported_events: found.length - rest.length,
          late_events: late,
          late_share: late / rest.length,
        }
      }),
    },
    {
      file: '14-last-events-of-an-account',
      params: { account: accountId(4), days: '40' },
      rows: last.slice(0, 100).map((one) => ({
        occurred_at: timeOf(one.occurredAt),
        event_id: one.id,
        metric_or_currency: metricName(one.source),
        quantity: one.quantity,
        properties: one.properties,
      })),
    },
    {
      file: '19-which-properties',
      params: { days: '7' },
      rows: [...keys]
        .map(([property, found]) => ({
          property,
          events: found.length,
          accounts: new Set(found.map(({ event }) => event.accountId)).size,
        }))
        .sort((a, b) => b.events - a.events || byText(a.property, b.property)),
    },
    {
      file: '20-one-request-by-id',
      params: { request_id: requestId },
      rows: events
        .filter((one) => one.propertyPairs.includes(`request_id=${requestId}`))
        .map((one) => ({
          occurred_at: timeOf(one.occurredAt),
          event_id: one.id,
          account_id: one.accountId,
          ...metricOf(one.source),
          quantity: one.quantity,
          properties: one.properties,
        })),
    },
  ]
}

/** quantileExact takes the value at a place of the sorted list: the level by the count, cut to a whole number. */
function percentiles(days: readonly number[], tokens: readonly UsageEvent[]): Row[] {
  return days.flatMap((day) => {
    const sorted = tokens.filter(inDay(day)).map(amountOf).sort(compareAmounts).map(formatAmount)
    const at = (level: number) => sorted[Math.floor(level * sorted.length)]
    return sorted.length === 0
      ? []
      : [
          {
            day: dateOf(day),
            events: sorted.length,
            median: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            largest: sorted.at(-1),
          },
        ]
  })
}

function answersOfCorrections(world: World): Answered[] {
  const { now, today, rows, revised } = world
  const since = now - DAY_S
  const all = rows.newest(NAMESPACE)
  const longest = revised.reduce((a, b) => (b.length > a.length ? b : a))
  const at = (one: UsageEvent) => one.correctedAt ?? one.acceptedAt
  const before = (id: string) =>
    revised
      .find(([report]) => report?.id === id)
      ?.filter((one) => at(one) < since * 1e6)
      .at(-1)
  const changes = groups(
    all.filter((one) => at(one) >= since * 1e6),
    (one) => `${one.source} ${one.acceptedAt >= since * 1e6 ? 'new' : one.voided ? 'voided' : 'corrected'}`,
  )
  return [
    {
      file: '08-share-of-corrections',
      params: { metric: TOKENS },
      rows: daysUpTo(today, 30).flatMap((day) => corrected(day, all, revised)),
    },
    {
      file: '25-what-an-event-said',
      params: { event_id: longest[0]?.id ?? '' },
      rows: longest.map((one, revision) => ({
        revision,
        said_at: microsText(at(one)),
        quantity: one.quantity,
        is_void: one.voided,
        properties: one.properties,
        key_id: revision === 0 ? null : 'key_1',
      })),
    },
    {
      file: '25-what-changed-since',
      params: { since: timeOf(since) },
      rows: [TOKENS, CALLS, 'usd'].flatMap((source) =>
        ['corrected', 'new', 'voided'].flatMap((change) => {
          const found = changes.get(`${source} ${change}`)
          if (found === undefined) return []
          const changedBy = found.map((one) => {
            const earlier = before(one.id)
            return subtractAmounts(countedOf(one), earlier === undefined ? ZERO : countedOf(earlier))
          })
          return [
            { ...metricOf(source), change, events: found.length, changed_by: formatAmount(total(changedBy)) },
          ]
        }),
      ),
    },
  ]
}

function corrected(day: number, all: readonly UsageEvent[], revised: readonly UsageEvent[][]): Row[] {
  const found = all.filter(of(TOKENS)).filter(inDay(day))
  if (found.length === 0) return []
  const voided = found.filter((one) => one.voided).length
  const correctedEvents = found.filter((one) => one.correctedAt !== null && !one.voided).length
  const changes = revised.flatMap((history) => {
    const [first, last] = [history[0], history.at(-1)]
    if (first === undefined || last === undefined || !of(TOKENS)(first) || !inDay(day)(first)) return []
    return [subtractAmounts(countedOf(last), amountOf(first))]
  })
  return [
    {
      day: dateOf(day),
      events: found.length,
      corrected_events: correctedEvents,
      voided_events: voided,
      share: (correctedEvents + voided) / found.length,
      changed_by: formatAmount(total(changes)),
    },
  ]
}

function answersOfGrants(world: World, events: readonly UsageEvent[]): Answered[] {
  const { now, today, grants, accounts } = world
  const at = now * 1e6
  const balanceOf = (account: string, source: string) => {
    const mine = grants.filter(
      (one) =>
        one.account_id === account &&
        (one.metric_id ?? one.currency) === source &&
        one.voided_at === null &&
        one.archived_at === null &&
        one.effective_at <= at &&
        (one.expires_at ?? Infinity) > at,
    )
    const soon = mine.filter((one) => (one.expires_at ?? Infinity) <= (now + 10 * DAY_S) * 1e6)
    const granted = total(mine.map(({ amount }) => parseAmount(amount)))
    const used = total(
      events.filter((one) => one.accountId === account && one.source === source).map(amountOf),
    )
    const expiring = total(soon.map(({ amount }) => parseAmount(amount)))
    const next = soon.length === 0 ? null : microsText(Math.min(...soon.map((one) => one.expires_at ?? 0)))
    return { granted, used, balance: subtractAmounts(granted, used), expiring, next }
  }
  const recent = events
    .filter(of('usd'))
    .filter((one) => one.occurredAt >= today - 28 * DAY_S && one.occurredAt < today)
  const low = accounts
    .map(({ account_id, name }) => ({ account_id, name, ...balanceOf(account_id, 'usd') }))
    .filter((one) => Number(one.granted) > 0 && Number(one.balance) * 100 < Number(one.granted) * 98)
    .sort((a, b) => compareAmounts(a.balance, b.balance))
  return [
    {
      file: '22-accounts-near-depletion',
      params: { currency: 'usd', percent: '98' },
      rows: low.map(({ account_id, name, granted, balance }) => {
        const used = sum(recent.filter((one) => one.accountId === account_id))
        return {
          account_id,
          name,
          granted: formatAmount(granted),
          balance: formatAmount(balance),
          days_left: Number(used) > 0 ? Math.floor((Number(balance) * 28) / Number(used)) : null,
        }
      }),
    },
    {
      file: '22-grants-that-expire',
      params: { account: accountId(2), days: '10' },
      rows: [TOKENS, CALLS, 'usd'].map((source) => {
        const { granted, used, balance, expiring, next } = balanceOf(accountId(2), source)
        return {
          ...metricOf(source),
          granted: formatAmount(granted),
          used: formatAmount(used),
          balance: formatAmount(balance),
          expiring: formatAmount(expiring),
          balance_without: formatAmount(subtractAmounts(balance, expiring)),
          next_expiry: next,
        }
      }),
    },
  ]
}

function answersOfContracts({ now, today, contracts, accounts, customers }: World): Answered[] {
  const endOf = ({ ends_at, cancel_at }: ContractRow) => Math.min(ends_at ?? Infinity, cancel_at ?? Infinity)
  const months = Array.from({ length: 12 }, (_, n) => monthOf(today, n - 11))
  const held = contracts.filter((one) => endOf(one) > one.starts_at)
  return [
    {
      file: '24-contracts-that-end',
      params: { days: '30' },
      rows: contracts
        .filter((one) => endOf(one) > now * 1e6 && endOf(one) <= (now + 30 * DAY_S) * 1e6)
        .sort((a, b) => endOf(a) - endOf(b) || byText(a.contract_id, b.contract_id))
        .map((one) => {
          const account = accounts.find(({ account_id }) => account_id === one.account_id)
          return {
            contract_id: one.contract_id,
            contract: one.name,
            account: account?.name ?? '',
            customer: customers.get(account?.customer_id ?? '') ?? '',
            ended_at: microsText(endOf(one)),
            is_canceled: Number((one.cancel_at ?? Infinity) < (one.ends_at ?? Infinity)),
            reason: one.cancel_reason,
          }
        }),
    },
    {
      file: '24-churn-of-contracts',
      params: {},
      rows: months.map((month) => {
        const [from, to] = [month * 1e6, monthOf(month, 1) * 1e6]
        const inForce = held.filter((one) => one.starts_at < from && endOf(one) > from)
        const ended = inForce.filter((one) => endOf(one) <= Math.min(to, now * 1e6)).length
        return {
          month: timeOf(month),
          began: held.filter((one) => one.starts_at >= from && one.starts_at < to).length,
          in_force_at_start: inForce.length,
          ended_of_these: ended,
          churn: inForce.length > 0 ? ended / inForce.length : null,
          is_over: Number(to <= now * 1e6),
        }
      }),
    },
  ]
}

function answersOfRated({ today, rated, accounts }: World): Answered[] {
  const first = today / DAY_S - 12
  const last = today / DAY_S - 2
  const params = { from: dateOf(first * DAY_S), to: dateOf(last * DAY_S) }
  const lines = rated
    .flatMap((period) => period.lines.map((line) => ({ ...line, period })))
    .filter(({ day }) => day >= first && day <= last)
  const ofModels = lines.filter(({ kind, line }) => kind === 'usage' && line?.rate?.groupBy === 'model')
  const modelOf = ({ line }: DailyLine) => line?.value ?? 'all others'
  const unrated = lines.filter(({ kind }) => kind === 'unrated')
  const sumOf = (ratios: readonly Ratio[]) => formatRatio(sumRatios(ratios))
  return [
    {
      file: '23-revenue-by-model-by-day',
      params,
      rows: [
        ...groups(ofModels, (one) => JSON.stringify([one.day, one.period.currency, modelOf(one)])).values(),
      ]
        .map((some) => {
          const [one] = some as [(typeof some)[0]]
          return {
            day: dateOf(one.day * DAY_S),
            currency: one.period.currency,
            model: modelOf(one),
            revenue: sumOf(some.map(({ added }) => added.exactAmount)),
          }
        })
        .sort((a, b) => byText(a.day, b.day) || byText(a.currency, b.currency) || byText(a.model, b.model)),
    },
    {
      file: '23-unrated-usage',
      params,
      rows: [...groups(unrated, (one) => `${one.period.accountId} ${one.source ?? ''}`).values()]
        .map((some) => {
          const [one] = some as [(typeof some)[0]]
          const days = some.map(({ day }) => day)
          return {
            account_id: one.period.accountId,
            account: accounts.find(({ account_id }) => account_id === one.period.accountId)?.name ?? '',
            metric_or_currency: metricName(one.source ?? ''),
            quantity: sumOf(some.map(({ added }) => added.quantity)),
            event_count: Number(some.reduce((sum, { added }) => sum + added.events, 0n)),
            first_day: dateOf(Math.min(...days) * DAY_S),
            last_day: dateOf(Math.max(...days) * DAY_S),
          }
        })
        .sort(
          (a, b) => byText(a.account_id, b.account_id) || byText(a.metric_or_currency, b.metric_or_currency),
        ),
    },
  ]
}
