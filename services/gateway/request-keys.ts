import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import {
  type BegunKey,
  idempotencyKeyRepository,
  type KeyedRequest,
  type ReportedEvents,
} from '../../shared/postgres/idempotency-keys.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'

/** Stores the Idempotency-Key headers of reports; see shared/postgres/idempotency-keys.ts. */
export interface RequestKeys {
  begin(namespaceId: string, request: KeyedRequest, body: Buffer, at: Micros): Promise<BegunKey>
  complete(namespaceId: string, request: KeyedRequest, reported: ReportedEvents): Promise<void>
}

/** Each step has its own transaction, because between the two steps the events are appended to the event log. */
export function requestKeysIn(pool: Pool): RequestKeys {
  const keysIn = <T>(
    namespaceId: string,
    work: (keys: ReturnType<typeof idempotencyKeyRepository>) => Promise<T>,
  ): Promise<T> => inNamespace(pool, namespaceId, (db) => work(idempotencyKeyRepository(db)))
  return {
    begin: (namespaceId, request, body, at) =>
      keysIn(namespaceId, (keys) => keys.begin(namespaceId, request, body, at)),
    complete: (namespaceId, request, reported) =>
      keysIn(namespaceId, (keys) => keys.complete(namespaceId, request, reported)),
  }
}
