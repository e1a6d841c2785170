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
  /** The usage that the write adds to the account; undefined when it is not known. */
  added?: SumsBySource | undefined
  /** Whether all of the account's events in the write are new. If so, a read waits for the end of the write. */
  isNew?: boolean
}

/** The fields of a log line that decide how much usage the line adds. */
interface Line {
  source: UsageSource
  quantity: string
  corrected_at?: string
  voided: number
}

/** The result for an account, from the lines read so far. */
interface Adding {
  isNew: boolean
  /** Undefined when the sum is not wanted, or not known. */
  added: Map<UsageSource, Amount> | undefined
}

/**
 * Adds up the quantities in lines of the event log, by account. The sum of an account is known only when all of its
 * events are certainly new, because the effect of a repeat or a correction depends on the stored events. All events are
 * added to `ids`, including events of accounts whose sum is not wanted.
 *
 * @param lines valid lines with line ends between them; a line end after the last line is optional
 * @param subjects the subjects of the lines, in the order of the lines
 * @param isWanted whether the sum of an account is wanted
 */
export async function addedUsage(
  lines: Buffer,
  subjects: readonly LogLineSubject[],
  ids: StoredIds,
  isWanted: (account: AccountKey) => boolean,
): Promise<WrittenAccount[]> {
  const yielding = yielder(SMALL_STEPS)
  // Why a map of maps: building a name for the account of each line would take longer than the rest of this function.
  const found = new Map<string, Map<string, Adding>>()
  const ofLines: Adding[] = []
  for (const subject of subjects) {
    if (yielding.isDue()) await yielding.yieldToOthers()
    const { namespaceId, accountId, occurredAt, identity } = subject
    const ofNamespace = found.get(namespaceId) ?? new Map<string, Adding>()
    found.set(namespaceId, ofNamespace)
    const ofAccount = ofNamespace.get(accountId) ?? {
      isNew: true,
      added: isWanted(subject) ? new Map<UsageSource, Amount>() : undefined,
    }
    ofNamespace.set(accountId, ofAccount)
    if (!ids.add(occurredAt, identity)) Object.assign(ofAccount, { isNew: false, added: undefined })
    ofLines.push(ofAccount)
  }
  if (ofLines.some(({ added }) => added !== undefined)) {
    // Why not splitLines: it makes a view of the bytes of each line, which takes long.
    let start = 0
    for (const ofAccount of ofLines) {
      if (yielding.isDue()) await yielding.yieldToOthers()
      const lineEnd = lines.indexOf(NEWLINE, start)
      const end = lineEnd < 0 ? lines.length : lineEnd
      if (ofAccount.added !== undefined)
        ofAccount.added = addLine(ofAccount.added, lines.toString('utf8', start, end))
      start = end + 1
    }
  }
  return [...found].flatMap(([namespaceId, accounts]) =>
    [...accounts].map(([accountId, ofAccount]) => ({ namespaceId, accountId, ...ofAccount })),
  )
}

/** @returns undefined if the line is a correction, or its event is voided */
function addLine(added: Map<UsageSource, Amount>, line: string): Map<UsageSource, Amount> | undefined {
  const { source, quantity, voided, corrected_at: correctedAt } = JSON.parse(line) as Line
  if (correctedAt !== undefined || voided !== 0) return undefined
  return added.set(source, addAmounts(added.get(source) ?? ZERO, amountFromDatabase(quantity)))
}
