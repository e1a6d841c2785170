import { TallyClient, type TallyOptions } from '../../../clients/sdk/src/core/client.ts'
import { EndedEarly } from '../../../clients/sdk/src/core/deadline.ts'
import {
  type MemoryAnswer,
  type MemoryRequest,
  memoryTransport,
} from '../../../clients/sdk/src/core/memory-transport.ts'
import type { TransportRequest } from '../../../clients/sdk/src/core/transport.ts'

/** The next answer: one of Tally, or a connection that is cut. */
export type Step = MemoryAnswer | 'cut' | ((request: MemoryRequest) => MemoryAnswer)

export interface Scripted {
  tally: TallyClient
  /** What was sent. */
  requests: readonly MemoryRequest[]
  /** The bodies as they were sent. */
  bodies: TransportRequest['body'][]
  keys: (string | undefined)[]
  /** The waits between attempts, which take no time. */
  waits: number[]
}

/** A client whose requests get the given answers, one after the other; the last one again and again. */
export function scriptedClient(steps: readonly Step[], options: TallyOptions = {}, random = 0): Scripted {
  let at = 0
  const memory = memoryTransport((request) => {
    const step = steps[Math.min(at++, steps.length - 1)] ?? 'cut'
    if (step === 'cut') throw new Error('socket hang up')
    return typeof step === 'function' ? step(request) : step
  })
  const waits: number[] = []
  const bodies: Scripted['bodies'] = []
  const keys: Scripted['keys'] = []
  const tally = new TallyClient(
    {
      url: 'http://tally.test',
      apiKey: 'tally_test_secret',
      transport: {
        send: (request) => {
          bodies.push(request.body)
          keys.push(request.headers['x-api-key'])
          return memory.send(request)
        },
      },
      ...options,
    },
    {
      transport: () => memory,
      random: () => random,
      wait: (ms, signal) => {
        waits.push(ms)
        return signal?.aborted === true
          ? Promise.reject(new EndedEarly('aborted', signal.reason))
          : Promise.resolve()
      },
    },
  )
  return { tally, requests: memory.requests, bodies, keys, waits }
}
