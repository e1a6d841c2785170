import type { Ask } from '../../core/ask.ts'
import { InFlight } from '../in-flight.ts'
import type { EventSource } from '../metric-source.ts'
import { reportBatch } from '../report-batch.ts'
import { type AccountIds, adviceOnMissing } from './account-ids.ts'
import { batchesOf, type DraftedLine } from './batches-of.ts'
import type { ImportCounts } from './import-counts.ts'
import type { BadLine, InputLines } from './input-line.ts'
import { LineOrdinals } from './line-ordinals.ts'
import { type EventDraft, type LineRules, lineToEvents } from './line-to-events.ts'

export interface ImportDeps {
  ask: Ask
  /** The account of every line, or the function that finds accounts by external id. */
  account: { id: string } | { idsOf: AccountIds }
  /** The metric or currency of each quantity column. */
  sources: readonly EventSource[]
  counts: ImportCounts
  onBadLine: (line: BadLine) => void
  /** Once aborted, nothing new is sent. */
  signal: AbortSignal
}

export interface ImportLimits {
  batchSize: number
  inFlightMax: number
  /** Stop at the first bad line. */
  strict: boolean
}

/**
 * Reports the lines of an input as usage. Reading waits while the allowed number of batches is being sent. So memory
 * does not grow with the input, except for LineOrdinals.
 *
 * With `strict` the lines before the first bad line are reported. Lines after it are reported only if their batch was
 * already being sent.
 *
 * @throws StartupError or AbortedError, in the same cases as Ask, after all requests have ended; `counts` then has the
 *   progress
 */
export async function importUsage(
  lines: InputLines,
  rules: LineRules,
  deps: ImportDeps,
  limits: ImportLimits,
): Promise<void> {
  const { counts, signal } = deps
  const inFlight = new InFlight(limits.inFlightMax)
  const mustStop = () => signal.aborted || (limits.strict && counts.badLines > 0)
  const drafted = draftLines(lines, rules, deps, mustStop)
  try {
    for await (const batch of batchesOf(drafted, limits.batchSize)) {
      await inFlight.add(() => (signal.aborted ? Promise.resolve() : sendBatch(batch, deps)))
      if (mustStop()) break
    }
  } finally {
    await inFlight.settle()
  }
}

async function* draftLines(
  lines: InputLines,
  rules: LineRules,
  { counts, onBadLine }: ImportDeps,
  mustStop: () => boolean,
): AsyncGenerator<DraftedLine> {
  const ordinals = new LineOrdinals()
  for await (const line of lines) {
    counts.lines++
    const events = 'fault' in line ? line : lineToEvents(line, rules, ordinals)
    counts.repeatedLines = ordinals.repeated
    if ('fault' in events) {
      counts.badLines++
      onBadLine({ line: line.line, lastLine: line.lastLine, fault: events.fault })
      if (mustStop()) return
    } else {
      counts.emptyQuantities += events.emptyQuantities
      yield { line: line.line, lastLine: line.lastLine, drafts: events.drafts }
    }
  }
}

interface PlacedEvent {
  line: DraftedLine
  json: string
}

async function sendBatch(lines: readonly DraftedLine[], deps: ImportDeps): Promise<void> {
  const { account, counts } = deps
  const accountIds = 'id' in account ? undefined : await account.idsOf(externalIdsOf(lines))
  const bad = new Map<DraftedLine, string>()
  const events: PlacedEvent[] = []
  for (const line of lines) {
    for (const draft of line.drafts) {
      const externalId = draft.accountExternalId ?? ''
      const id = 'id' in account ? account.id : accountIds?.get(externalId)
      if (id === undefined)
        bad.set(
          line,
          `there is no account with the external id ${JSON.stringify(externalId)}${adviceOnMissing(externalId)}`,
        )
      else events.push({ line, json: eventJson(draft, id, deps.sources) })
    }
  }
  const { accepted, refused } = await reportBatch(deps.ask, events)
  counts.events += accepted
  for (const { event, reason } of refused) bad.set(event.line, `Tally refuses it: ${reason}`)
  counts.badLines += bad.size
  for (const [{ line, lastLine }, fault] of bad) deps.onBadLine({ line, lastLine, fault })
}

const externalIdsOf = (lines: readonly DraftedLine[]): Set<string> =>
  new Set(lines.flatMap(({ drafts }) => drafts.map(({ accountExternalId }) => accountExternalId ?? '')))

/** Writes an event in the form that the API takes. */
function eventJson(draft: EventDraft, accountId: string, sources: readonly EventSource[]): string {
  return JSON.stringify({
    account_id: accountId,
    ...sources[draft.quantityIndex],
    quantity: draft.quantity,
    occurred_at: draft.occurredAt,
    idempotency_key: draft.key,
    properties: draft.properties,
  })
}
