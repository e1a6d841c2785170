import { StartupError } from '../../shared/errors/startup-error.ts'
import type { Ask } from '../core/ask.ts'
import { ApiError } from '../sdk/src/node.ts'
import {
  callsOf,
  OPERATIONS,
  type Outcome,
  outcomeOf,
  type QueuedEvent,
  ReporterCore,
} from '../sdk/src/reporter/internal.ts'

interface BatchResult<E> {
  accepted: number
  /** The events that Tally refuses, with its reason, which begins with the field. */
  refused: { event: E; reason: string }[]
}

/**
 * Half of Tally's default limit, to stay well below it: Tally may close the connection of a larger request, and then the
 * client does not see why.
 */
const BODY_BYTES_MAX = 2 * 1_024 * 1_024

interface Placed<E> extends QueuedEvent {
  event: E
}

/**
 * Reports events until Tally has taken all of them, except those that it refuses. What a refusal means is decided by the
 * core of the SDK's reporter. Unlike the reporter, this waits for each answer, and ends when Tally cannot be reached.
 *
 * @param events their JSON texts, at most 1,000
 * @throws StartupError or AbortedError, in the same cases as Ask
 */
export async function reportBatch<E extends { json: string }>(
  ask: Ask,
  events: readonly E[],
): Promise<BatchResult<E>> {
  const core = new ReporterCore<Placed<E>>({
    batchEvents: events.length,
    batchBytes: BODY_BYTES_MAX,
    lingerMs: 0,
    inFlight: 1,
    queueEvents: Infinity,
    queueBytes: Infinity,
  })
  for (const event of events)
    core.restore({ event, bytes: Buffer.byteLength(event.json) + 1, addedAt: 0, needs: [] })
  const result: BatchResult<E> = { accepted: 0, refused: [] }
  for (let batch = core.nextBatch(0); batch !== undefined; batch = core.nextBatch(0)) {
    const outcome = await send(ask, batch.events)
    const { accepted, setAside } = core.answered(batch, outcome, 0, 0)
    result.accepted += accepted.length
    result.refused.push(...setAside.map(({ event, reason }) => ({ event: event.event, reason })))
  }
  return result
}

/** @returns what Tally says about the events: it accepts them all, or refuses some of them */
async function send<E extends { json: string }>(ask: Ask, events: readonly Placed<E>[]): Promise<Outcome> {
  const body = Buffer.from(`{"events":[${events.map(({ event }) => event.json).join(',')}]}`)
  const outcome = await ask((tally) =>
    callsOf(tally).one<{ accepted: unknown }>(OPERATIONS.reportEvents, [], { body }),
  ).then(
    ({ accepted }): Outcome | undefined => (accepted === events.length ? { kind: 'accepted' } : undefined),
    (err: unknown) => {
      if (!ApiError.is(err)) throw err
      return outcomeOf(err, events.length, () => undefined, Date.now())
    },
  )
  if (outcome?.kind === 'accepted' || outcome?.kind === 'refused') return outcome
  throw new StartupError(
    `a batch was answered${outcome === undefined ? '' : ` with ${outcome.text}`}, but not as Tally answers: is this the URL of a Tally?`,
  )
}
