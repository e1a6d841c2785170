import type { Credentials } from './credentials.ts'
import type { QueryRequest } from './query-request.ts'

/** What a query gave. */
export interface QueryAnswer {
  bytes: Uint8Array
  /** The format of the bytes, by ClickHouse's name. */
  format: string
  summary: QuerySummary
}

interface QuerySummary {
  resultRows: number
  resultBytes: number
  writtenRows: number
  /** Seconds. */
  elapsed: number
}

/** Somebody whose queries the endpoint takes. */
export interface EndpointUser extends Credentials {
  /** Inflated. */
  bodyBytesMax: number
  /** Whether queries may come in a GET. */
  mayGet: boolean
  /**
   * @param signal that the client has gone
   * @param send called with the answer; it stays in memory until that is done
   */
  answer(
    request: QueryRequest,
    signal: AbortSignal,
    send: (answer: QueryAnswer) => Promise<void>,
  ): Promise<void>
}
