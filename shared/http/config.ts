import type { EnvReader } from '../config/env-reader.ts'

/** Reads the longest time that a request may take to arrive. Its answer may take as long again. */
export const readRequestTimeoutMs = (read: EnvReader): number =>
  read.integer('REQUEST_TIMEOUT_MS', {
    about:
      'milliseconds a request may take to arrive, and then again to be answered; else 408, or 503 when it writes',
    default: 30_000,
    min: 100,
    max: 300_000,
  })

/**
 * The longest time that a request about one event waits until the event is loaded. Usually, usage is loaded within a
 * second or two.
 */
export const LOOK_UP_TIMEOUT_MS = 5_000
