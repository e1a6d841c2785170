import type { EventDraft } from './line-to-events.ts'

/** A good line and its events. */
export interface DraftedLine {
  line: number
  lastLine: number
  drafts: EventDraft[]
}

/**
 * Gathers whole lines into batches. So a line that Tally refuses is reported only once.
 *
 * @param eventsMax the maximum number of events in a batch; a line never has more
 */
export async function* batchesOf(
  lines: AsyncIterable<DraftedLine>,
  eventsMax: number,
): AsyncGenerator<DraftedLine[]> {
  let batch: DraftedLine[] = []
  let events = 0
  for await (const line of lines) {
    if (line.drafts.length === 0) continue // a line with only empty quantities
    if (events + line.drafts.length > eventsMax) {
      yield batch
      batch = []
      events = 0
    }
    batch.push(line)
    events += line.drafts.length
  }
  if (batch.length > 0) yield batch
}
