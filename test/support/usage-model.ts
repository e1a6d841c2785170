import { divideHalfEven, textOf, unitsOf } from './decimal-units.ts'
import type { Aggregation } from '../../shared/domain/usage-aggregate.ts'

/** A usage event as the plain model keeps it. */
export interface ModelEvent {
  id: string
  source: string
  quantity: string
  occurredAt: number
  /** Rises with acceptance; equal for events of one request. */
  acceptedOrder: number
}

/**
 * What usage should be: a plain loop over the events, with nothing clever in it. An event counts once, its first report
 * with it.
 */
export class UsageModel {
  private readonly events = new Map<string, ModelEvent>()

  report(event: ModelEvent): void {
    if (!this.events.has(event.id)) this.events.set(event.id, event)
  }

  get size(): number {
    return this.events.size
  }

  /** By source, for events with startAt <= occurredAt < endAt. */
  usage(aggregation: Aggregation, startAt: number, endAt: number): Record<string, string> {
    const bySource = new Map<string, ModelEvent[]>()
    for (const event of this.events.values()) {
      if (event.occurredAt < startAt || event.occurredAt >= endAt) continue
      bySource.set(event.source, [...(bySource.get(event.source) ?? []), event])
    }
    return Object.fromEntries(
      [...bySource].map(([source, events]) => [source, aggregate(aggregation, events)]),
    )
  }
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
