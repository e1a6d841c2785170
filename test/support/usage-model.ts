import type { TimeRange } from '../../shared/domain/time-range.ts'
import type { Aggregation } from '../../shared/domain/usage-aggregate.ts'
import { divideHalfEven, textOf, unitsOf } from './decimal-units.ts'

/** A usage event in the plain model. */
export interface ModelEvent {
  id: string
  source: string
  quantity: string
  occurredAt: number
  /** Grows with acceptance; equal for events of one request. */
  acceptedOrder: number
  accountId?: string
  properties?: Record<string, unknown>
}

/** A grant in the plain model. */
export interface ModelGrant {
  accountId: string
  source: string
  amount: string
  /** Whether it counts now. */
  active: boolean
}

/** The usage of one day or month, by source. */
export interface ModelBucket {
  start: number
  usage: Record<string, string>
}

/**
 * Computes the expected usage with simple loops over the events. An event counts once, by its first report until it is
 * corrected.
 */
export class UsageModel {
  private readonly events = new Map<string, ModelEvent>()
  private readonly grants: ModelGrant[] = []

  report(event: ModelEvent): void {
    if (!this.events.has(event.id)) this.events.set(event.id, event)
  }

  correct(id: string, change: Pick<Partial<ModelEvent>, 'quantity' | 'properties'>): void {
    const event = this.events.get(id)
    if (event !== undefined) this.events.set(id, { ...event, ...change })
  }

  void(id: string): void {
    this.events.delete(id)
  }

  grant(grant: ModelGrant): void {
    this.grants.push(grant)
  }

  get size(): number {
    return this.events.size
  }

  /** The usage by source of events with startAt <= occurredAt < endAt. */
  usage(
    aggregation: Aggregation,
    startAt: number,
    endAt: number,
    isMeant: (event: ModelEvent) => boolean = () => true,
  ): Record<string, string> {
    const bySource = new Map<string, ModelEvent[]>()
    for (const event of this.events.values()) {
      if (event.occurredAt < startAt || event.occurredAt >= endAt || !isMeant(event)) continue
      bySource.set(event.source, [...(bySource.get(event.source) ?? []), event])
    }
    return Object.fromEntries(
      [...bySource].map(([source, events]) => [source, aggregate(aggregation, events)]),
    )
  }

  /**
   * Returns a bucket for each day or month between the two seconds, both included. Events outside them do not count.
   */
  buckets(
    period: 'day' | 'month',
    aggregation: Aggregation,
    first: number,
    last: number,
    isMeant: (event: ModelEvent) => boolean = () => true,
  ): ModelBucket[] {
    const buckets: ModelBucket[] = []
    let name = ''
    for (const day of daysBetween(first, last)) {
      const start = period === 'day' ? day : `${day.slice(0, 7)}-01`
      if (start === name) continue
      name = start
      const isIn = ({ occurredAt }: ModelEvent) =>
        dateOf(occurredAt).startsWith(period === 'day' ? day : day.slice(0, 7))
      buckets.push({
        start: Date.parse(`${start}T00:00:00Z`) / 1_000,
        usage: this.usage(aggregation, first, last + 1, (event) => isMeant(event) && isIn(event)),
      })
    }
    return buckets
  }

  /** The events in a range. */
  list({ startAt, endAt }: TimeRange): ModelEvent[] {
    return [...this.events.values()].filter(({ occurredAt }) => occurredAt >= startAt && occurredAt < endAt)
  }

  /** The times of the events in a range. */
  listTimes(range: TimeRange, isMeant: (event: ModelEvent) => boolean): number[] {
    return this.list(range)
      .filter(isMeant)
      .map(({ occurredAt }) => occurredAt)
  }

  /** The times of the first and the last of some events. */
  span(isMeant: (event: ModelEvent) => boolean): { first: number; last: number } | undefined {
    const times = [...this.events.values()].filter(isMeant).map(({ occurredAt }) => occurredAt)
    return times.length === 0 ? undefined : { first: Math.min(...times), last: Math.max(...times) }
  }

  balance(accountId: string, source: string): { grant_total: string; usage_total: string; balance: string } {
    const ofAccount = (event: ModelEvent) => event.accountId === accountId
    const used = unitsOf(this.usage('sum', 0, 2 ** 32, ofAccount)[source] ?? '0')
    const granted = this.grants
      .filter((grant) => grant.active && grant.accountId === accountId && grant.source === source)
      .reduce((sum, { amount }) => sum + unitsOf(amount), 0n)
    return { grant_total: textOf(granted), usage_total: textOf(used), balance: textOf(granted - used) }
  }

  /** All currencies in which an account ever got a grant, by code. */
  grantedCurrencies(accountId: string): string[] {
    const sources = this.grants.filter((grant) => grant.accountId === accountId).map(({ source }) => source)
    return [...new Set(sources)].filter((source) => source.length === 3).sort()
  }
}

/** Whether a top-level property is this text, or a number or boolean with this JSON text. */
export function hasProperty(event: ModelEvent, name: string, value: string): boolean {
  const properties = event.properties ?? {}
  if (!Object.hasOwn(properties, name)) return false
  const held = properties[name]
  if (typeof held === 'number' || typeof held === 'boolean') return JSON.stringify(held) === value
  return held === value
}

const dateOf = (second: number): string => new Date(second * 1_000).toISOString().slice(0, 10)

function* daysBetween(first: number, last: number): Generator<string> {
  for (let second = first; dateOf(second) < dateOf(last); second += 86_400) yield dateOf(second)
  yield dateOf(last)
}

function aggregate(aggregation: Aggregation, events: readonly ModelEvent[]): string {
  const units = events.map(({ quantity }) => unitsOf(quantity))
  const sum = units.reduce((total, unit) => total + unit, 0n)
  const ordered = [...units].sort((a, b) => (a < b ? -1 : 1))
  switch (aggregation) {
    case 'sum':
      return textOf(sum)
    case 'count':
      return String(events.length)
    case 'avg':
      return textOf(divideHalfEven(sum, BigInt(events.length)))
    case 'min':
      return textOf(ordered[0] ?? 0n)
    case 'max':
      return textOf(ordered.at(-1) ?? 0n)
    case 'latest': {
      const latest = [...events].sort(
        (a, b) => a.occurredAt - b.occurredAt || a.acceptedOrder - b.acceptedOrder || (a.id < b.id ? -1 : 1),
      )
      return textOf(unitsOf(latest.at(-1)?.quantity ?? '0'))
    }
  }
}
