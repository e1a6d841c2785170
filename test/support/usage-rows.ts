import type { Properties } from '../../shared/domain/properties.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { UsageModel } from './usage-model.ts'

/** A plain list of ClickHouse's rows. For each event the last correction counts, or without one the first report. */
export class UsageRows {
  private readonly rows: UsageEvent[] = []

  store(rows: readonly UsageEvent[]): void {
    this.rows.push(...rows)
  }

  /** The present versions of the events that count in a namespace. */
  counting(namespaceId: string): UsageEvent[] {
    return this.newest(namespaceId).filter(({ voided }) => !voided)
  }

  /** The present versions of all events in a namespace, including voided ones. */
  newest(namespaceId: string): UsageEvent[] {
    const counting = new Map<string, UsageEvent>()
    for (const row of this.rows)
      if (row.namespaceId === namespaceId && isAbove(row, counting.get(row.id))) counting.set(row.id, row)
    return [...counting.values()]
  }

  /** The events that count in a namespace, as a plain model. */
  model(namespaceId: string): UsageModel {
    const model = new UsageModel()
    for (const row of this.counting(namespaceId))
      model.report({
        id: row.id,
        accountId: row.accountId,
        source: row.source,
        quantity: row.quantity,
        occurredAt: row.occurredAt,
        acceptedOrder: row.acceptedAt,
        properties: JSON.parse(row.properties) as Properties,
      })
    return model
  }
}

function isAbove(row: UsageEvent, other: UsageEvent | undefined): boolean {
  if (other === undefined) return true
  if (row.correctedAt !== null && other.correctedAt !== null) return row.correctedAt > other.correctedAt
  if (row.correctedAt === null && other.correctedAt === null) return row.acceptedAt < other.acceptedAt
  return row.correctedAt !== null
}
