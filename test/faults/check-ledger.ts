import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { runProgram } from '../support/by-hand.ts'
import { textOf, unitsOf } from '../support/decimal-units.ts'
import { tell } from '../support/fault-seed.ts'
import { until } from '../support/until.ts'
import type { EventBody, SourceUsage } from '../support/usage-world.ts'
import { type FaultStage } from './fault-stage.ts'
import type { Ledger, LedgerEvent } from './ledger.ts'

/** Usage by source, or by account and source. */
interface Usage {
  counts: Record<string, number>
  sums: Record<string, string>
}

/** The parts of a stage that are checked. */
export type Checked = Pick<FaultStage, 'ledger' | 'api' | 'accounts' | 'commandEnv' | 'drained'>

const COUNTED_MS = 60_000
const PAGE = 100
/** Reporters report no older usage. */
const TOTALS_S = 100 * 86_400

/**
 * Checks that exactly the acknowledged events are counted, each once and to the last digit. It compares counts and sums
 * of each source, for all accounts together.
 */
export async function checkUsage(stage: Checked): Promise<void> {
  const { ledger } = stage
  expect(ledger.surprises).to.deep.equal([])
  expect(ledger.count('unknown'), 'events whose fate no answer told').to.equal(0)
  await stage.drained()
  const expected = usageOf(acknowledged(ledger), ({ source }) => source)
  const counted = await until(async () => {
    const usage = await readTotals(stage)
    return isDeepStrictEqual(usage, expected) && usage
  }, COUNTED_MS).catch(() => readTotals(stage)) // the checks below report missing usage
  expect(counted).to.deep.equal(expected)
}

/** Checks counts and sums of each account. */
export async function checkAccounts(stage: Checked): Promise<void> {
  expect(await readUsage(stage)).to.deep.equal(usageOf(acknowledged(stage.ledger), ACCOUNT_AND_SOURCE))
}

const acknowledged = ({ events }: Ledger): readonly LedgerEvent[] =>
  events.filter(({ outcome, isVoid }) => outcome === 'acknowledged' && isVoid !== true)

const ACCOUNT_AND_SOURCE = ({ account, source }: Counted): string => `${account} ${source}`

/**
 * Checks counts and sums, and each event: acknowledged ⊆ listed ⊆ attempted, no refused event is listed, each is listed
 * once and as it was sent. The sums equal those of the list, the audit finds nothing, and no record is left unread.
 *
 * @param dead lines that must be in the dead letters
 * @param others the number of counted events that no reporter has sent
 */
export async function checkLedger(stage: Checked, dead = 0, others = 0): Promise<void> {
  const { ledger } = stage
  await checkUsage(stage)
  await checkAccounts(stage)
  const listed = await listEvents(stage, ledger.count('acknowledged'))
  const seen = new Set<number>()
  for (const listing of listed) {
    const { account_id: account, metric_id: metric, currency, quantity, properties } = listing
    const { voided_at: voidedAt } = listing
    const number = ledger.numberOf(properties) ?? -1
    const event = ledger.events[number]
    expect(event, 'an event that nobody reported').not.to.equal(undefined)
    expect(event?.outcome, 'an event that was refused').not.to.equal('refused')
    expect(seen.has(number), `event ${number} is listed twice`).to.equal(false)
    seen.add(number)
    expect(voidedAt !== undefined, `event ${number} counts no more`).to.equal(event?.isVoid === true)
    expect({ account, source: metric ?? currency, quantity }).to.deep.equal({
      account: event?.account,
      source: event?.source,
      quantity: event?.quantity,
    })
  }
  const missing = ledger.events.filter(
    ({ outcome }, number) => outcome === 'acknowledged' && !seen.has(number),
  )
  expect(missing, 'acknowledged and not counted').to.deep.equal([])
  const ofList = listed
    .filter(({ voided_at: voidedAt }) => voidedAt === undefined)
    .map((event) => ({
      account: event.account_id,
      source: event.metric_id ?? event.currency ?? '',
      quantity: event.quantity,
    }))
  expect(await readUsage(stage)).to.deep.equal(usageOf(ofList, ACCOUNT_AND_SOURCE))
  const { code, output } = await runProgram('operator/main', stage.commandEnv, 'audit')
  expect(output).to.match(/^everything adds up$/m)
  expect(output, 'two contents under one id').to.match(/^ +reported otherwise +0$/m)
  expect(output).to.match(new RegExp(`in the dead letters ${dead}$`, 'm'))
  expect(output).to.match(new RegExp(`^events in ClickHouse +${listed.length + others}$`, 'm'))
  expect(output).to.match(/^not loaded yet +0 records$/m)
  expect(code, output).to.equal(0)
  const again = Number(/reported again +(\d+)$/m.exec(output)?.[1])
  const made = Number(/^corrections +(\d+)$/m.exec(output)?.[1])
  tell(
    `${ledger.count('acknowledged')} events counted once each, ${again} lines of them again, ${made} corrections, ${ledger.count('refused')} refused; ` +
      `${ledger.attempts.length} requests, ${ledger.attempts.filter(({ status }) => status === undefined || status >= 500).length} without an answer`,
  )
}

interface Counted {
  account: string
  source: string
  quantity: string
}

function usageOf(events: readonly Counted[], nameOf: (event: Counted) => string): Usage {
  const counts: Record<string, number> = {}
  const sums = new Map<string, bigint>()
  for (const event of events) {
    const name = nameOf(event)
    counts[name] = (counts[name] ?? 0) + 1
    sums.set(name, (sums.get(name) ?? 0n) + unitsOf(event.quantity))
  }
  return { counts, sums: Object.fromEntries([...sums].map(([name, units]) => [name, textOf(units)])) }
}

/** Reads all usage by source, with two queries for any number of accounts. */
async function readTotals({ api }: Checked): Promise<Usage> {
  const counts = new Map<string, number>()
  const sums = new Map<string, bigint>()
  const now = Math.floor(Date.now() / 1_000)
  for (const aggregation of ['count', 'sum']) {
    const { status, text, body } = await api.get<SchemaOf<'PeriodUsage'>>(
      `/v2/metrics/usage/monthly?start_at=${now - TOTALS_S}&end_at=${now + TOTALS_S}&aggregation=${aggregation}`,
    )
    expect(status, text).to.equal(200)
    for (const { metric_id: metric, currency, quantity } of body.data.flatMap(({ data }) => data)) {
      const source = metric ?? currency ?? ''
      if (aggregation === 'count') counts.set(source, (counts.get(source) ?? 0) + Number(quantity))
      else sums.set(source, (sums.get(source) ?? 0n) + unitsOf(quantity))
    }
  }
  return {
    counts: Object.fromEntries(counts),
    sums: Object.fromEntries([...sums].map(([source, units]) => [source, textOf(units)])),
  }
}

/** Reads the usage of each account. */
async function readUsage({ api, accounts }: Checked): Promise<Usage> {
  const usage: Usage = { counts: {}, sums: {} }
  for (const account of accounts) {
    const linesOf = async (aggregation: string): Promise<readonly SourceUsage[]> => {
      const { status, text, body } = await api.get<SchemaOf<'AccountUsage'>>(
        `/v2/accounts/${account}/usage?start_at=0&end_at=4294967295&aggregation=${aggregation}`,
      )
      expect(status, text).to.equal(200)
      return body.events_consumed
    }
    for (const line of await linesOf('count'))
      usage.counts[`${account} ${line.metric_id ?? line.currency ?? ''}`] = Number(line.quantity)
    for (const line of await linesOf('sum'))
      usage.sums[`${account} ${line.metric_id ?? line.currency ?? ''}`] = line.quantity
  }
  return usage
}

/** Reads all events page by page, when the list has as many as are counted. */
async function listEvents({ api }: Checked, atLeast: number): Promise<EventBody[]> {
  const events: EventBody[] = []
  await until(async () => {
    for (;;) {
      const after = events.at(-1)
      const cursor = after === undefined ? '' : `&starting_after=${after.id}`
      const { status, text, body } = await api.get<SchemaOf<'UsageEventPage'>>(
        `/v2/events?limit=${PAGE}${cursor}`,
      )
      expect(status, text).to.equal(200)
      events.push(...body.data)
      if (!body.has_more) return events.length >= atLeast
    }
  }, COUNTED_MS)
  return events
}
