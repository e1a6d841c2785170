import type { HttpAnswer } from './core/answers.ts'

/** The Tally that a reporter reports to. Each promise is rejected when there is no complete answer. */
export interface ReporterTarget {
  readonly url: string
  /** Whether the key is of a live or a test company. */
  readonly mode: 'live' | 'test'
  /** `POST /v2/events/batch` */
  send(body: Uint8Array): Promise<HttpAnswer>
  /** `GET /v2/accounts/external-id/…` or `GET /v2/metrics/external-id/…` */
  find(kind: 'account' | 'metric', externalId: string): Promise<HttpAnswer>
  /** `POST /v2/accounts` with the external id, which is also the name. */
  createAccount(externalId: string): Promise<HttpAnswer>
  /** `GET /v2/caller` */
  caller(): Promise<HttpAnswer>
  /** Ends what is under way. */
  close(): void
}
