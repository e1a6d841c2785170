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
  /** What the write adds to its usage; undefined when that is not known. */
  added?: SumsBySource | undefined
  /** Whether all events of the write are new. Then a read waits for the end of the write. */
  isNew?: boolean
}

/** The fields of a line of the event log that say what it adds. */
interface Line {
  source: UsageSource
  quantity: string
  corrected_at?: string
  voided: number
}

/** What is known so far of the lines of an account. */
interface Adding {
  isNew: boolean
  /** Undefined when it is not wanted, or not known. */
  added: Map<UsageSource, Amount> | undefined
}

/**
 * What lines of the event log add to the usage of each account: the quantities of their events. The sum of an account
 * is known only when all its events are new for certain: what a repeat or a correction changes depends on what is
 * stored. The ids of all events are remembered, also those of accounts that are not wanted.
 *
 * @param lines valid lines with line ends between them; one after the last is optional
 * @param subjects of the lines, in their order
 * @param isWanted whether the sum of an account is wanted
 */
export async function addedUsage(
  lines: Buffer,
  subjects: readonly LogLineSubject[],
  ids: StoredIds,
  isWanted: (account: AccountKey) => boolean,
): Promise<WrittenAccount[]> {
  const yielding = yielder(SMALL_STEPS)
  // Why a map of maps: a name for the account of each line would take longer than everything else here.
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
    // Why not splitLines: a view of the bytes of each line takes long.
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

/** @returns undefined for a line that is no report of an event that counts */
function addLine(added: Map<UsageSource, Amount>, line: string): Map<UsageSource, Amount> | undefined {
  const { source, quantity, voided, corrected_at: correctedAt } = JSON.parse(line) as Line
  if (correctedAt !== undefined || voided !== 0) return undefined
  return added.set(source, addAmounts(added.get(source) ?? ZERO, amountFromDatabase(quantity)))
}
