import type { EnvReader } from '../../shared/config/env-reader.ts'

const MB = 1_024 * 1_024

/** More queries are refused, because each waits with its text in memory. */
const WAITING_MAX = 500
/** Otherwise the queries of one analyst could take all places. */
const WAITING_MAX_OF_ONE = 20
/** One thread, so that a query of an analyst leaves the other cores to balances. */
const THREADS = 1
/** The size of the values of an answer. The file of the answer has its own limit. */
const RESULT_BYTES_MAX = 1_024 * MB
/** Ends a join of everything with everything. A normal scan of a hundred million events is far below this limit. */
const READ_ROWS_MAX = 1e10
/** The space on the data folder's disk that sorting and grouping may take. */
const TEMPORARY_BYTES_MAX = 1_024 * MB

/** Settings of the analysts' endpoint: the limits of a query. */
export function readAnalystsConfig(read: EnvReader) {
  const integer = (name: string, about: string, fallback: number, max: number) =>
    read.integer(name, { about, default: fallback, min: 1, max })
  return {
    waitingMax: WAITING_MAX,
    waitingMaxOfOne: WAITING_MAX_OF_ONE,
    seesAll:
      read.oneOf('ANALYST_ALL', ['on', 'off'], {
        about: 'whether the user analyst may sign in, who sees the usage of all companies',
        default: 'on',
      }) === 'on',
    limits: {
      timeoutS: integer('ANALYST_QUERY_TIMEOUT_S', 'seconds a query of an analyst may take', 30, 3_600),
      memoryBytes:
        MB * integer('ANALYST_QUERY_MEMORY_MB', 'MB a query of an analyst may take', 1_024, 1_000_000),
      threads: THREADS,
      resultRows: integer('ANALYST_RESULT_ROWS_MAX', 'rows an answer to an analyst may have', 1_000_000, 1e9),
      resultBytes: RESULT_BYTES_MAX,
      readRows: READ_ROWS_MAX,
      temporaryBytes: TEMPORARY_BYTES_MAX,
    },
  }
}
