import type { EnvReader } from '../config/env-reader.ts'

/** The longest a request may take, once its body is read. */
export const readRequestTimeoutMs = (read: EnvReader): number =>
  read.integer('REQUEST_TIMEOUT_MS', {
    about: 'milliseconds after which a request is answered with 408, or 503 when it writes',
    default: 30_000,
    min: 100,
    max: 300_000,
  })
