/** A request to the API. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path and the query. */
  target: string
  body?: unknown
  /** The header Idempotency-Key. */
  idempotencyKey?: string
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * Writes a request as a command of a shell. The key is a variable, so that the text may be shown and sent to others.
 *
 * @param origin the address of Tally, such as http://127.0.0.1:8080
 */
export function curlOf(origin: string, { method, target, body, idempotencyKey }: ApiRequest): string {
  return [
    'curl -s -H "x-api-key: $TALLY_KEY"',
    ...(method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`-X ${method}`]),
    ...(idempotencyKey === undefined ? [] : [`-H ${quoted(`Idempotency-Key: ${idempotencyKey}`)}`]),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
    quoted(origin + target),
  ].join(' \\\n  ')
}
