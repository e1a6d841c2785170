import type { Credentials } from './credentials.ts'
import type { QueryRequest } from './query-request.ts'

/** The answer to a query. */
export interface QueryAnswer {
  /** All of them, or one part after the other while the engine writes them. */
  bytes: Uint8Array | AsyncIterable<Uint8Array>
  /** The format of the bytes, by ClickHouse's name. */
  format: string
  /** What is known of the query so far. */
  summary: () => QuerySummary
}

export interface QuerySummary {
  resultRows: number
  resultBytes: number
  writtenRows: number
  /** Seconds. */
  elapsed: number
}

/** A user whose queries the endpoint takes. */
export interface EndpointUser extends Credentials {
  /** The largest body, after decompression. */
  bodyBytesMax: number
  /** Whether queries may be sent with GET. */
  mayGet: boolean
  /**
   * @param signal aborts when the client has disconnected
   * @param send is called with the answer; it is done when the client has the answer
   */
  answer(
    request: QueryRequest,
    signal: AbortSignal,
    send: (answer: QueryAnswer) => Promise<void>,
  ): Promise<void>
}
