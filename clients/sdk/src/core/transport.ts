/** A request, ready to be sent. */
export interface TransportRequest {
  method: string
  url: string
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  body: string | Uint8Array | undefined
  /** Ends the request at its deadline, or when the caller aborts it. */
  signal: AbortSignal
}

/** A whole answer. */
export interface TransportAnswer {
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  text: string
}

/** Sends requests. */
export interface Transport {
  /**
   * Resolves when the whole answer is there, whatever its status is. Redirects are answers, too.
   *
   * @throws Error when no complete answer was received; the request may have been done
   */
  send(request: TransportRequest): Promise<TransportAnswer>
  /** Closes open connections. */
  close?(): void
}

/** An answer may have at most so many bytes. */
export const ANSWER_BYTES_MAX = 64 * 1_024 * 1_024
