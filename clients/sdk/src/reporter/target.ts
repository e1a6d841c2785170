import { setMaxListeners } from 'node:events'
import { callsOf, type TallyClient } from '../core/client.ts'
import type { TransportAnswer } from '../core/transport.ts'
import { OPERATIONS } from '../operations.gen.ts'

/** The requests of a reporter. Each promise is rejected when there is no complete answer. */
export interface ReporterTarget {
  readonly url: string
  /** Whether the key is of a live or a test company. */
  readonly mode: () => Promise<'live' | 'test'>
  send(body: Uint8Array): Promise<TransportAnswer>
  find(kind: 'account' | 'metric', externalId: string): Promise<TransportAnswer>
  /** Makes an account with the external id, which is also the name. */
  createAccount(externalId: string): Promise<TransportAnswer>
  caller(): Promise<TransportAnswer>
  /** Ends what is under way. */
  close(): void
}

const FIND = { account: OPERATIONS.getAccountByExternalId, metric: OPERATIONS.getMetricByExternalId }

/** Reports by a client, with its key, its hooks and its connections. Only the reporter decides what is sent again. */
export function reporterTarget(client: TallyClient): ReporterTarget {
  const call = callsOf(client)
  const closed = new AbortController()
  const { signal } = closed
  setMaxListeners(0, signal) // each request has a listener until its answer
  return {
    url: client.url,
    mode: async () => ((await call.key()).startsWith('tally_test_') ? 'test' : 'live'),
    send: (body) => call.answer(OPERATIONS.reportEvents, [], { body }, { signal }),
    find: (kind, externalId) => call.answer(FIND[kind], [externalId], {}, { signal }),
    createAccount: (externalId) => {
      const body = { name: externalId, external_id: externalId }
      return call.answer(OPERATIONS.createAccount, [], { body }, { signal })
    },
    caller: () => call.answer(OPERATIONS.getCaller, [], {}, { signal }),
    close: () => {
      closed.abort()
    },
  }
}
