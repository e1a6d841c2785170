import { addAmounts, type Amount, amountFromDatabase, ZERO } from '../../amount/amount.ts'
import type { AccountKey } from '../../domain/account-key.ts'
import type { SumsBySource } from '../../domain/balance.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { SMALL_STEPS, yielder } from '../../lifecycle/yielder.ts'
import type { LogLineSubject } from '../../usage-lines/log-line-subjects.ts'
import type { StoredIds } from './stored-ids.ts'

const NEWLINE = 0x0a

/** An account whose usage a write changes. */
export interface WrittenAccount extends AccountKey {
  /** What is added to its usage; undefined when that is not known. */
  added?: SumsBySource | undefined
}

/** What of a line of the event log says what it adds. */
interface Line {
  event_id: string
  source: UsageSource
  quantity: string
  corrected_at?: string
}

/**
 * What lines of the event log add to the usage of each account: the quantities of their events. It is known only when
 * all its events are new for certain; what a repeat or a correction changes depends on what is stored.
 *
 * @param lines checked before, each but the last ended by a line end
 * @param subjects of the lines, in their order
 */
export async function addedUsage(
  lines: Buffer,
  subjects: readonly LogLineSubject[],
  ids: StoredIds,
): Promise<WrittenAccount[]> {
  const yielding = yielder(SMALL_STEPS)
  // Not by their names: to make one for each of 50,000 lines took 18 ms where this takes 3, with 1,000 accounts.
  const found = new Map<string, Map<string, Map<UsageSource, Amount> | undefined>>()
  let start = 0
  for (const { namespaceId, accountId, occurredAt } of subjects) {
    if (yielding.isDue()) await yielding.yieldToOthers()
    const lineEnd = lines.indexOf(NEWLINE, start)
    const end = lineEnd < 0 ? lines.length : lineEnd
    const ofNamespace = found.get(namespaceId) ?? new Map<string, Map<UsageSource, Amount> | undefined>()
    found.set(namespaceId, ofNamespace)
    const added = ofNamespace.has(accountId) ? ofNamespace.get(accountId) : new Map<UsageSource, Amount>()
    const isAdded =
      occurredAt >= ids.completeFrom && addLine(added, occurredAt, lines.toString('utf8', start, end), ids)
    ofNamespace.set(accountId, isAdded ? added : undefined)
    start = end + 1
  }
  return [...found].flatMap(([namespaceId, accounts]) =>
    [...accounts].map(([accountId, added]) => ({ namespaceId, accountId, added })),
  )
}

function addLine(
  added: Map<UsageSource, Amount> | undefined,
  occurredAt: number,
  text: string,
  ids: StoredIds,
): boolean {
  const line = JSON.parse(text) as Line
  const isNew = ids.add(occurredAt, line.event_id)
  if (added === undefined || !isNew || line.corrected_at !== undefined) return false
  added.set(line.source, addAmounts(added.get(line.source) ?? ZERO, amountFromDatabase(line.quantity)))
  return true
}
