import { type Credentials, isUser } from './credentials.ts'
import type { QueryRequest } from './query-request.ts'
import type { Delivery } from './unsent-places.ts'

/** The answer to a query. */
export interface QueryAnswer {
  /** All bytes of the answer, or its parts one after the other, as the engine writes them. */
  bytes: Uint8Array | AsyncIterable<Uint8Array>
  /** The format of the bytes, by ClickHouse's name. */
  format: string
  /** What is known of the query so far. */
  summary: () => QuerySummary
  /** The code that sends the answer keeps this up to date. */
  delivery?: Delivery
}

export type SendAnswer = (answer: QueryAnswer) => Promise<void>

export interface QuerySummary {
  resultRows: number
  resultBytes: number
  writtenRows: number
  /** Seconds. */
  elapsed: number
}

/** A user whose queries the endpoint takes. */
export interface EndpointUser {
  user: string
  /** The company whose usage the user sees; undefined for all companies. */
  company?: string
  /** The largest body, after decompression. */
  bodyBytesMax: number
  /** Whether queries may be sent with GET. */
  mayGet: boolean
  /**
   * @param signal aborts when the client has disconnected
   * @param send is called with the answer; its promise resolves when the client has the whole answer
   */
  answer(request: QueryRequest, signal: AbortSignal, send: SendAnswer): Promise<void>
}

/** Everyone who may use the endpoint. */
export interface EndpointUsers {
  /** The user with these credentials; it takes as long for a wrong name as for a wrong password. */
  find(given: Credentials): Promise<EndpointUser | undefined>
}

/** A user whose password this process knows. */
export interface FixedUser extends EndpointUser {
  password: string
}

/** Looks for a user among some whose passwords this process knows, and then among others. */
export const fixedUsers = (fixed: readonly FixedUser[], others?: EndpointUsers): EndpointUsers => ({
  async find(given) {
    const found = fixed.filter((one) => isUser(one, given))
    return found[0] ?? (await others?.find(given))
  },
})
