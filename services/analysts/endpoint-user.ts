import type { Credentials } from './credentials.ts'
import type { QueryRequest } from './query-request.ts'

/** The answer to a query. */
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

/** A user whose queries the endpoint takes. */
export interface EndpointUser extends Credentials {
  /** The largest body, after decompression. */
  bodyBytesMax: number
  /** Whether queries may be sent with GET. */
  mayGet: boolean
  /**
   * @param signal aborts when the client has disconnected
   * @param send is called with the answer, which stays in memory until `send` is done
   */
  answer(
    request: QueryRequest,
    signal: AbortSignal,
    send: (answer: QueryAnswer) => Promise<void>,
  ): Promise<void>
}
