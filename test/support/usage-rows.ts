import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { UsageModel } from './usage-model.ts'

/** The rows of ClickHouse, in a plain list: of each event the last correction counts, else the first report. */
export class UsageRows {
  private readonly rows: UsageEvent[] = []

  store(rows: readonly UsageEvent[]): void {
    this.rows.push(...rows)
  }

  /** What counts in a namespace. */
  model(namespaceId: string): UsageModel {
    const counting = new Map<string, UsageEvent>()
    for (const row of this.rows)
      if (row.namespaceId === namespaceId && isAbove(row, counting.get(row.id))) counting.set(row.id, row)
    const model = new UsageModel()
    for (const row of counting.values())
      if (!row.voided)
        model.report({
          id: row.id,
          accountId: row.accountId,
          source: row.source,
          quantity: row.quantity,
          occurredAt: row.occurredAt,
          acceptedOrder: row.acceptedAt,
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
