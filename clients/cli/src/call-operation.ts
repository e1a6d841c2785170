import type { Tally } from '../../sdk/src/node.ts'
import type { CliOperation } from './operation.ts'
import type { PreparedRequest } from './request.ts'

type Methods = Readonly<Record<string, Readonly<Record<string, (...args: unknown[]) => unknown>>>>

/** Calls an operation through its method of the SDK. */
export function callOperation(
  client: Tally,
  { id, resource, method, query, body }: CliOperation,
  request: PreparedRequest,
  signal: AbortSignal,
): unknown {
  const called = (client as unknown as Methods)[resource]?.[method]
  if (called === undefined) throw new Error(`the SDK has no method for ${id}`)
  const { idempotencyKey } = request
  return called(
    ...request.path,
    ...(query === 'none' ? [] : [request.query]),
    ...(body === 'none' ? [] : [request.body]),
    { signal, ...(idempotencyKey !== undefined && { idempotencyKey }) },
  )
}
