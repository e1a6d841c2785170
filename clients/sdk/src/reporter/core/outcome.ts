/** What an answer says about one event of a batch. */
export interface Fault {
  /** The place of the event in the batch, from 0. */
  index: number
  reason: string
  /** How far the time of the event is ahead of Tally's clock, when the fault is about this time. */
  aheadMs?: number
}

/** No answer that says anything about the request. It is sent again. */
export interface Failing {
  kind: 'failing'
  text: string
  /** How long Tally asks to wait; 0 when it does not ask. */
  retryAfterMs: number
}

/** An answer that only a person can change: a wrong key, or an address where no Tally is. */
export interface Blocked {
  kind: 'blocked'
  text: string
}

/** What an answer to a batch means. */
export type Outcome =
  { kind: 'accepted' } | { kind: 'refused'; text: string; faults: readonly Fault[] } | Failing | Blocked

/** What an answer to a look-up means. */
export type LookUpOutcome =
  { kind: 'found'; id: string } | { kind: 'missing'; text: string } | Failing | Blocked
