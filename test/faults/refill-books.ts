import { expect } from 'chai'
import { type Random, randomInteger } from '../../clients/reporter/simulate/seeded-random.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { partitionOfAccount } from '../../shared/event-log/partition.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import type { ApiClient } from '../support/api-client.ts'
import { textOf, unitsOf } from '../support/decimal-units.ts'
import type { RefillBody } from '../support/refill-world.ts'
import { makeCorrection, makeReport } from '../support/usage-event.ts'

/** An event in its last version. */
interface BookedEvent {
  event: UsageEvent
  /** The quantities that may have counted, each with the earliest time in milliseconds. */
  worth: { sinceMs: number; units: bigint }[]
}

export interface RefillBooksOptions {
  api: ApiClient
  eventLog: EventLog
  namespaceId: string
  metric: string
  accounts: readonly string[]
  minimum: string
  target: string
  /** The amount of the grant of each account by the test, which is always in force. */
  granted: string
  random: Random
}

const EVENTS_AT_ONCE = 100
const SPAN_S = 20 * 86_400

/** Reports and corrects usage, records it, and checks refills against these records with separate arithmetic. */
export class RefillBooks {
  private readonly options: RefillBooksOptions
  private readonly events = new Map<string, BookedEvent[]>()
  private readonly all: BookedEvent[] = []
  private made = 0

  constructor(options: RefillBooksOptions) {
    this.options = options
    for (const account of options.accounts) this.events.set(account, [])
  }

  get size(): number {
    return this.all.length
  }

  /** Reports some usage of random accounts over HTTP. */
  report(): Promise<void> {
    const { accounts, random } = this.options
    return this.send(
      Array.from({ length: EVENTS_AT_ONCE }, () => ({
        account: accounts[randomInteger(random, accounts.length)] ?? '',
        quantity: randomQuantity(random),
      })),
    )
  }

  /** Reports one event. */
  use(account: string, quantity: string): Promise<void> {
    return this.send([{ account, quantity }])
  }

  private async send(usage: readonly { account: string; quantity: string }[]): Promise<void> {
    const { api, metric, random } = this.options
    const sinceMs = Date.now()
    const nowS = Math.floor(sinceMs / 1_000)
    const bodies = usage.map(({ account, quantity }) => ({
      account_id: account,
      metric_id: metric,
      quantity,
      occurred_at: nowS - randomInteger(random, SPAN_S),
      idempotency_key: `refill ${this.made++}`,
    }))
    const { event_ids: ids } = await api.create<SchemaOf<'UsageEventBatchTaken'>>('/v2/events/batch', {
      events: bodies,
    })
    for (const [n, body] of bodies.entries()) {
      const event = makeReport({
        namespaceId: this.options.namespaceId,
        id: ids[n] ?? '',
        accountId: body.account_id,
        source: metric,
        quantity: body.quantity,
        occurredAt: body.occurred_at,
        acceptedAt: sinceMs * 1_000,
      })
      const booked = { event, worth: [{ sinceMs, units: unitsOf(body.quantity) }] }
      this.all.push(booked)
      this.events.get(body.account_id)?.push(booked)
    }
  }

  /** Corrects some reported events, through the event log. */
  async correct(count: number, how: 'up' | 'either way'): Promise<void> {
    const { eventLog, random } = this.options
    const some = new Set(
      Array.from({ length: count }, () => this.all[randomInteger(random, this.all.length)] as BookedEvent),
    )
    const sinceMs = Date.now()
    const records = [...some].map((booked) => {
      const { event } = booked
      const isUp = how === 'up' || random() < 0.5
      const isVoid = !isUp && random() < 0.3
      const units = isUp
        ? unitsOf(event.quantity) + unitsOf(randomQuantity(random))
        : unitsOf(event.quantity) / 2n
      booked.event = makeCorrection(
        event,
        isVoid ? { voided: true } : { quantity: textOf(units), voided: false },
      )
      booked.worth.push({ sinceMs, units: isVoid ? 0n : units })
      return {
        partition: partitionOfAccount(event.accountId, eventLog.partitions),
        acceptedAt: event.acceptedAt,
        value: Buffer.from(usageEventToLine(booked.event)),
      }
    })
    await eventLog.append(records)
  }

  /** The usage of an account when all of it is counted. */
  usageOf(account: string): bigint {
    return this.sum(account, (worth) => worth.at(-1)?.units ?? 0n)
  }

  /** The largest usage that can have been counted by a time. */
  private usageAtMost(account: string, atMs: number): bigint {
    return this.sum(account, (worth) =>
      worth
        .filter(({ sinceMs }) => sinceMs <= atMs)
        .reduce((most, { units }) => (units > most ? units : most), 0n),
    )
  }

  private sum(account: string, of: (worth: BookedEvent['worth']) => bigint): bigint {
    return (this.events.get(account) ?? []).reduce((sum, { worth }) => sum + of(worth), 0n)
  }

  refillsOf(account: string): Promise<RefillBody[]> {
    const { api, metric } = this.options
    const path = `/v2/refill-configurations/${account}/${metric}/refills`
    return listAll<RefillBody>(api, path, (refill) => refill.grant_id)
  }

  /**
   * Checks that the refills of an account follow from grants and usage. Each refill was due, included every earlier
   * grant, and raised the balance exactly to the target. No two refills are for one fall below the minimum.
   *
   * @returns the number of refills
   */
  async check(account: string): Promise<number> {
    const { api, metric } = this.options
    const refills = await this.refillsOf(account)
    const grants = await listAll<{ id: string; amount: string; status: string }>(
      api,
      `/v2/grants?account_id=${account}&metric_id=${metric}`,
      (grant) => grant.id,
    )
    const [minimum, target, granted] = [this.options.minimum, this.options.target, this.options.granted].map(
      unitsOf,
    ) as [bigint, bigint, bigint]
    let before = granted
    for (const [n, refill] of refills.entries()) {
      expect(refill.occurrence, account).to.equal(n + 1)
      const [amount, grantTotal, usageTotal] = [refill.amount, refill.grant_total, refill.usage_total].map(
        unitsOf,
      ) as [bigint, bigint, bigint]
      expect(grantTotal, 'every grant before it is counted').to.equal(before)
      expect(grantTotal - usageTotal < minimum, 'it was due').to.equal(true)
      expect(amount, 'it fills up to the target').to.equal(target - (grantTotal - usageTotal))
      const used = this.usageAtMost(account, (refill.created_at + 1) * 1_000)
      expect(usageTotal <= used, 'what was not used yet is not counted').to.equal(true)
      before += amount
    }
    const byId = new Map(grants.map(({ id, amount }) => [id, amount]))
    for (const { grant_id: id, amount } of refills) expect(byId.get(id)).to.equal(amount)
    expect(grants.filter(({ status }) => status === 'active')).to.have.length(refills.length + 1)
    const { body } = await api.get<SchemaOf<'Balance'>>(`/v2/accounts/${account}/balance?metric_id=${metric}`)
    expect(body.usage_total).to.equal(textOf(this.usageOf(account)))
    expect(body.grant_total).to.equal(textOf(before))
    expect(before - this.usageOf(account) >= minimum, 'it ends at or above its minimum').to.equal(true)
    return refills.length
  }
}

/** Draws a quantity up to 40, with up to 18 places. */
const randomQuantity = (random: Random): string =>
  textOf(
    BigInt(randomInteger(random, 40)) * 10n ** 18n +
      (BigInt(randomInteger(random, 2 ** 30)) ** 2n % 10n ** 18n) +
      1n,
  )

async function listAll<T>(api: ApiClient, target: string, idOf: (item: T) => string): Promise<T[]> {
  const items: T[] = []
  for (;;) {
    const last = items.at(-1)
    const after = last === undefined ? '' : `${target.includes('?') ? '&' : '?'}starting_after=${idOf(last)}`
    const { status, text, body } = await api.get<{ data: T[]; has_more: boolean }>(target + after)
    expect(status, text).to.equal(200)
    items.push(...body.data)
    if (!body.has_more) return items
  }
}
