import { addAmounts, type Amount, formatAmount, parseAmount, ZERO } from '../../../shared/amount/amount.ts'
import { findTimeFault } from '../../../shared/domain/usage-event.ts'
import type { ImportCounts } from './import-counts.ts'
import type { ImportOptions } from './import-options.ts'
import { type BadLine, describeBadLine, type InputLines } from './input-line.ts'
import { LineOrdinals } from './line-ordinals.ts'
import { type EventDraft, type LineEvents, type LineRules, lineToEvents } from './line-to-events.ts'
import type { Fault } from './parse-quantity.ts'

interface ColumnTotal {
  events: number
  sum: Amount
}

/**
 * Reads and checks an input as an import would, but without contacting Tally. It prints the events that an import would
 * send.
 *
 * @param err prints bad lines
 * @param out prints the result
 */
export async function dryRun(
  lines: InputLines,
  rules: LineRules,
  options: ImportOptions,
  counts: ImportCounts,
  { out, err }: { out: (line: string) => void; err: (line: string) => void },
): Promise<void> {
  const totals: ColumnTotal[] = options.quantities.map(() => ({ events: 0, sum: ZERO }))
  const times = { first: Infinity, last: -Infinity }
  const ordinals = new LineOrdinals()
  let example: EventDraft | undefined
  const complain = (bad: BadLine) => {
    counts.badLines++
    err(describeBadLine(bad))
  }
  for await (const line of lines) {
    counts.lines++
    const events = 'fault' in line ? line : timely(lineToEvents(line, rules, ordinals), rules.timeColumn)
    if ('fault' in events) {
      complain({ line: line.line, lastLine: line.lastLine, fault: events.fault })
      if (options.strict) break
      continue
    }
    counts.emptyQuantities += events.emptyQuantities
    for (const draft of events.drafts) {
      example ??= draft
      addTo(totals[draft.quantityIndex], draft)
      times.first = Math.min(times.first, draft.occurredAt)
      times.last = Math.max(times.last, draft.occurredAt)
    }
  }
  counts.repeatedLines = ordinals.repeated
  for (const line of describe(totals, times, example, options)) out(line)
}

/** Checks the time as Tally would, but with this machine's clock. */
function timely(events: LineEvents | Fault, timeColumn: string): LineEvents | Fault {
  const [draft] = 'fault' in events ? [] : events.drafts
  const fault = draft && findTimeFault(draft.occurredAt, Math.floor(Date.now() / 1_000))
  return fault === undefined ? events : { fault: `${timeColumn}: ${fault}` }
}

function addTo(total: ColumnTotal | undefined, { quantity }: EventDraft): void {
  if (total === undefined) return
  total.events++
  total.sum = addAmounts(total.sum, parseAmount(quantity))
}

function describe(
  totals: readonly ColumnTotal[],
  times: { first: number; last: number },
  example: EventDraft | undefined,
  { quantities, account }: ImportOptions,
): string[] {
  const lines = quantities.map(({ column, metric }, index) => {
    const { events, sum } = totals[index] ?? { events: 0, sum: ZERO }
    return `${column} as ${metric}: ${events.toLocaleString('en-US')} events, sum ${formatAmount(sum)}`
  })
  if (example === undefined) return ['dry run, nothing was sent', ...lines]
  const shown = {
    account: 'fixed' in account ? account.fixed : example.accountExternalId,
    metric: quantities[example.quantityIndex]?.metric,
    quantity: example.quantity,
    occurred_at: example.occurredAt,
    idempotency_key: example.key,
    properties: example.properties,
  }
  return [
    'dry run, nothing was sent',
    ...lines,
    `from ${isoOf(times.first)} to ${isoOf(times.last)}`,
    `the first event: ${JSON.stringify(shown)}`,
  ]
}

const isoOf = (second: number): string => new Date(second * 1_000).toISOString()
