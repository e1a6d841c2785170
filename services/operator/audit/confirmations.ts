import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'

/** The verdict of the log's lines on an event: its row counts, another version counts, or no row counts. */
type Verdict = 'counts' | 'superseded' | 'missing'

/** A row of ClickHouse that no line of the log has confirmed so far. */
export interface UnconfirmedRow {
  row: CurrentEvent
  namespaceId: string
  /** Whether the log has lines of this event with other versions. */
  hasOtherLines: boolean
}

/** The maximum number of events that are kept in memory. */
const EVENTS_MAX = 500_000

/**
 * Records which events of ClickHouse the log confirms. An event is kept by its second of acceptance, from the reading
 * of its line until that second is compared. Afterwards, only unconfirmed events are kept, until their lines are read.
 */
export class Confirmations {
  private readonly verdicts = new Map<number, Map<string, Verdict>>()
  private readonly waiting = new Map<string, UnconfirmedRow>()
  private size = 0
  private comparedTo: number

  /** @param from Unix second; earlier events are not compared */
  constructor(from: number) {
    this.comparedTo = from
  }

  /** Notes that a line confirms the row of this version. */
  confirm(key: string, second: number, version: bigint): void {
    this.note(key, second, 'counts')
    if (this.waiting.get(key)?.row.version === version) this.waiting.delete(key)
  }

  /** Notes the verdict of a line. `second` is the acceptance of the event's row or, without a row, of the line. */
  note(key: string, second: number, verdict: Verdict): void {
    if (second < this.comparedTo) return
    const verdicts = this.verdicts.get(second) ?? new Map<string, Verdict>()
    this.verdicts.set(second, verdicts)
    const before = verdicts.get(key)
    if (before === 'counts' || before === verdict) return
    verdicts.set(key, verdict)
    if (before === undefined) this.size++
    this.keepBounded(key)
  }

  verdictOn(key: string, second: number): Verdict | undefined {
    return this.verdicts.get(second)?.get(key)
  }

  /** Adds a row that no line has confirmed so far. */
  await(key: string, unconfirmed: UnconfirmedRow): void {
    this.waiting.set(key, unconfirmed)
    this.keepBounded(key)
  }

  /** Drops the verdicts on events that were accepted before this second, because they were compared. */
  forgetBefore(second: number): void {
    this.comparedTo = second
    for (const [noted, verdicts] of this.verdicts)
      if (noted < second) {
        this.size -= verdicts.size
        this.verdicts.delete(noted)
      }
  }

  /** The rows that no line has confirmed. */
  unconfirmed(): UnconfirmedRow[] {
    return [...this.waiting.values()]
  }

  private keepBounded(key: string): void {
    if (this.size + this.waiting.size <= EVENTS_MAX) return
    const why = 'very many events are not in the log, or the clocks of the gateways are far apart'
    throw new DomainError(
      'unprocessable',
      `more than ${EVENTS_MAX} events cannot be matched, ${key} among them: ${why}`,
    )
  }
}
