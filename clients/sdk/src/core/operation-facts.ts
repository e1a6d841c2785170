/** What the client knows of an operation of the API. resources.gen.ts has those of all operations. */
export interface OperationFacts {
  /** The operationId in openapi.yaml. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As in openapi.yaml: `/v2/accounts/{account_id}`. */
  path: string
  /** The status of the only answer that means success. */
  status: number
  /** The media type of that answer. */
  mediaType: string
  retry: RetryRule
  /** For lists with pages. */
  cursor?: Cursor
  /** For keyed operations: the operation that gets what the request made. */
  made?: string
}

/**
 * Whether a request may be sent again when it is not known if it was done: `safe`, a repeat has the same result; `keyed`,
 * a repeat with the same Idempotency-Key is done once; `never`, a repeat may do harm.
 */
export type RetryRule = 'safe' | 'keyed' | 'never'

/** The field of a page's last item at which the next page starts. A `refill_key` is `account_id/metric_id`. */
export type Cursor = 'id' | 'refill_key' | 'grant_id' | 'contract_id' | 'currency' | 'revision'
