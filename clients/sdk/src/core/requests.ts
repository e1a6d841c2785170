import { withAmountsAsText } from './amounts.ts'
import type { OperationFacts } from './operation-facts.ts'

/** The query and the body of a call. */
export interface Content {
  query?: Readonly<Record<string, unknown>> | undefined
  /** A value that becomes JSON, or JSON as bytes, which are sent as they are. */
  body?: unknown
}

/**
 * Makes the target of a request.
 *
 * @param values the values of the path's parameters, in their order
 * @throws TypeError when a value cannot stand in a path
 */
export function targetOf(
  { path }: OperationFacts,
  values: readonly string[],
  query: Content['query'],
): string {
  let at = 0
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, values[at++]))
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${encodeURIComponent(name)}=${queryText(value)}`],
  )
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`
}

/** Why empty ones are refused: without its last segment the path of a resource is that of the list. */
function segment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..')
    throw new TypeError(`${name}: ${JSON.stringify(value)} cannot stand in a path`)
  return encodeURIComponent(value)
}

/** Lists are separated by commas, as openapi.yaml has it. */
const queryText = (value: unknown): string =>
  (Array.isArray(value) ? value : [value]).map((one) => encodeURIComponent(String(one))).join(',')

/**
 * Makes the body of a request, once for all its attempts.
 *
 * @throws TypeError when an amount is a number that is not a safe integer
 */
export function bodyText(body: unknown): string | Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body
  return JSON.stringify(withAmountsAsText(body))
}
