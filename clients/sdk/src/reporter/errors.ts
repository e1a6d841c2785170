/** An error of the reporter about events. */
export class ReporterError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The form of the event is wrong. Nothing was done with it. */
export class InvalidEventError extends ReporterError {}

/** A bound, or the disk, leaves no room for the event. Nothing was done with it. */
export class ReporterFullError extends ReporterError {}

/** The reporter was closed. Nothing was done with the event. */
export class ReporterClosedError extends ReporterError {}

/** The folder of the spool belongs to another company. Nothing is sent, and new events are refused. */
export class WrongCompanyError extends ReporterError {}

/** Tally refuses the event. */
export class RejectedEventError extends ReporterError {
  /** The event as JSON, with its key and time. */
  readonly event: string
  readonly reason: string

  constructor(event: string, reason: string) {
    super(`the event was refused: ${reason}`)
    this.event = event
    this.reason = reason
  }
}

/** It is not known whether Tally has the event. It counts once if it is reported again as it is in `event`. */
export class GaveUpError extends ReporterError {
  /** The event as JSON, with its key and time. */
  readonly event: string

  constructor(event: string, message: string) {
    super(message)
    this.event = event
  }
}

/** Events that are neither in Tally nor in a spool. */
export class UnsentError extends ReporterError {
  /** The events as lines of JSON, with their keys and times. */
  readonly events: readonly string[]

  constructor(events: readonly string[]) {
    super(`${events.length} events were not sent, and are kept nowhere but in this error`)
    this.events = events
  }
}
