import { addAmounts, type Amount, amountFromDatabase, ZERO } from '../../amount/amount.ts'
import type { AccountKey } from '../../domain/account-key.ts'
import type { SumsBySource } from '../../domain/balance.ts'
import { occurredAtOfEventId } from '../../domain/usage-event.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { SMALL_STEPS, yielder } from '../../lifecycle/yielder.ts'
import type { LogLineSubject } from '../../usage-lines/log-line-subjects.ts'
import type { StoredIds } from './stored-ids.ts'

const NEWLINE = 0x0a
const EVENT_ID_LENGTH = 'event_'.length + 32
/** Before the id of an event, in each line as usageEventToLine writes it. */
const ID_KEY = Buffer.from('"event_id":"')

/** An account whose usage a write changes. */
export interface WrittenAccount extends AccountKey {
  /** What is added to its usage; undefined when that is not known. */
  added?: SumsBySource | undefined
}

/** The fields of a line of the event log that say what it adds. */
interface Line {
  event_id: string
  source: UsageSource
  quantity: string
  corrected_at?: string
}

/** Sums of one account that are being added up; undefined when they are not known. */
type Adding = Map<UsageSource, Amount> | undefined

/**
 * What lines of the event log add to the usage of each account: the quantities of their events. It is known only when
 * all its events are new for certain; what a repeat or a correction changes depends on what is stored. All ids are
 * remembered, also of accounts that nobody wants to know of.
 *
 * @param lines checked before, each but the last ended by a line end
 * @param subjects of the lines, in their order
 * @param isWanted whether to say what is added to an account, if that is known
 */
export async function addedUsage(
  lines: Buffer,
  subjects: readonly LogLineSubject[],
  ids: StoredIds,
  isWanted: (account: AccountKey) => boolean,
): Promise<WrittenAccount[]> {
  const yielding = yielder(SMALL_STEPS)
  // Why a map in a map: to make a name for the account of each line takes longer than all else here.
  const found = new Map<string, Map<string, Adding>>()
  let start = 0
  for (const subject of subjects) {
    if (yielding.isDue()) await yielding.yieldToOthers()
    const { namespaceId, accountId, occurredAt } = subject
    const ofNamespace = found.get(namespaceId) ?? new Map<string, Adding>()
    found.set(namespaceId, ofNamespace)
    const before =
      ofNamespace.has(accountId) || !isWanted(subject)
        ? ofNamespace.get(accountId)
        : new Map<UsageSource, Amount>()
    const lineEnd = lines.indexOf(NEWLINE, start)
    const end = lineEnd < 0 ? lines.length : lineEnd
    const isNew =
      occurredAt >= ids.completeFrom && ids.add(occurredAt, readEventId(lines, start, end, occurredAt))
    ofNamespace.set(accountId, isNew && before !== undefined ? addLine(before, lines, start, end) : undefined)
    start = end + 1
  }
  return [...found].flatMap(([namespaceId, accounts]) =>
    [...accounts].map(([accountId, added]) => ({ namespaceId, accountId, added })),
  )
}

/**
 * Why not as JSON: this is done for every event. An id begins with the time of its event, so the right text was found
 * if it does.
 */
function readEventId(lines: Buffer, start: number, end: number, occurredAt: number): string {
  const from = lines.indexOf(ID_KEY, start) + ID_KEY.length
  const id = lines.toString('latin1', from, from + EVENT_ID_LENGTH)
  const isFound = from > start + ID_KEY.length && from + EVENT_ID_LENGTH < end
  return isFound && occurredAtOfEventId(id) === occurredAt ? id : readLine(lines, start, end).event_id
}

function addLine(added: Map<UsageSource, Amount>, lines: Buffer, start: number, end: number): Adding {
  const { source, quantity, corrected_at: correctedAt } = readLine(lines, start, end)
  if (correctedAt !== undefined) return undefined
  return added.set(source, addAmounts(added.get(source) ?? ZERO, amountFromDatabase(quantity)))
}

const readLine = (lines: Buffer, start: number, end: number): Line =>
  JSON.parse(lines.toString('utf8', start, end)) as Line
