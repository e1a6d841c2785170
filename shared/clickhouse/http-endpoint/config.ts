import type { EnvReader } from '../../config/env-reader.ts'

const MB = 1_024 * 1_024

/** Settings of the analysts' endpoint: what one of their queries may take. */
export function readAnalystsConfig(read: EnvReader) {
  const integer = (name: string, about: string, fallback: number, max: number) =>
    read.integer(name, { about, default: fallback, min: 1, max })
  return {
    waitingMax: integer('ANALYST_QUERIES_WAITING_MAX', 'queries of analysts that may wait', 500, 10_000),
    limits: {
      timeoutS: integer('ANALYST_QUERY_TIMEOUT_S', 'seconds a query of an analyst may take', 30, 3_600),
      memoryBytes:
        MB * integer('ANALYST_QUERY_MEMORY_MB', 'MB a query of an analyst may take', 1_024, 1_000_000),
      threads: integer('ANALYST_QUERY_THREADS', 'threads a query of an analyst may take', 1, 64),
      resultRows: integer('ANALYST_RESULT_ROWS_MAX', 'rows an answer to an analyst may have', 1_000_000, 1e9),
      resultBytes: MB * integer('ANALYST_RESULT_MB', 'MB an answer to an analyst may have', 128, 10_000),
      readRows: integer('ANALYST_READ_ROWS_MAX', 'rows a query of an analyst may read', 1e10, 1e15),
      temporaryBytes:
        MB *
        integer(
          'ANALYST_QUERY_DISK_MB',
          'MB of disk a query of an analyst may take for a while',
          1_024,
          1_000_000,
        ),
    },
  }
}
