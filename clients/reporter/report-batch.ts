import { StartupError } from '../../shared/errors/startup-error.ts'
import { printable } from '../../shared/text/printable.ts'
import type { HttpAnswer } from '../core/http-sender.ts'
import type { Ask } from '../core/reporting-client.ts'

/** An event that Tally refuses. */
interface RefusedEvent {
  /** Its index in the given list. */
  index: number
  /** Tally's reason. It begins with the field. */
  reason: string
}

interface BatchResult {
  accepted: number
  refused: RefusedEvent[]
}

interface Placed {
  index: number
  json: string
}

/**
 * Reports events until Tally has taken all of them, except those that it refuses by their index. Tally takes a whole
 * batch or nothing of it. So after a refusal the other events are sent again, without the refused ones.
 *
 * @param events JSON texts, at most 1,000
 * @throws StartupError or Interrupted, in the same cases as Ask
 */
export async function reportBatch(ask: Ask, events: readonly string[]): Promise<BatchResult> {
  const result: BatchResult = { accepted: 0, refused: [] }
  await report(
    ask,
    events.map((json, index) => ({ index, json })),
    result,
  )
  return result
}

async function report(ask: Ask, events: readonly Placed[], result: BatchResult): Promise<void> {
  if (events.length === 0) return
  const body = `{"events":[${events.map(({ json }) => json).join(',')}]}`
  const answer = await ask({ method: 'POST', path: '/v2/events/batch', body })
  if (answer.status >= 200 && answer.status < 300) {
    requireAccepted(answer, events.length)
    result.accepted += events.length
    return
  }
  if (answer.status === 404 || answer.status === 409)
    throw new StartupError(
      `POST /v2/events/batch was answered with ${answer.status}: is this the URL of a Tally?`,
    )
  const faults = faultsByIndex(answer.text)
  const rest = events.filter((_, place) => !faults.has(place))
  if (rest.length < events.length) {
    for (const [place, { index }] of events.entries()) {
      const reason = faults.get(place)
      if (reason !== undefined) result.refused.push({ index, reason })
    }
    await report(ask, rest, result)
    return
  }
  const [only] = events
  if (events.length === 1 && only !== undefined) {
    result.refused.push({ index: only.index, reason: `${answer.status} ${printable(answer.text)}` })
    return
  }
  // The answer is about the batch as a whole: the batch is too large, or Tally does not know which event is wrong.
  const middle = events.length >> 1
  await report(ask, events.slice(0, middle), result)
  await report(ask, events.slice(middle), result)
}

/**
 * Checks strictly, because a batch would be lost if something between us and Tally, such as a login page, answered 200.
 */
function requireAccepted({ status, text }: HttpAnswer, count: number): void {
  let accepted: unknown
  try {
    accepted = (JSON.parse(text) as { accepted?: unknown } | null)?.accepted
  } catch {
    accepted = undefined
  }
  if (status !== 202 || accepted !== count)
    throw new StartupError(
      `a batch was answered with ${status}, but not as Tally answers: is this the URL of a Tally?`,
    )
}

/** Reads lines such as `events[3].quantity: …` into reasons by index. */
function faultsByIndex(text: string): Map<number, string> {
  const faults = new Map<number, string>()
  for (const line of text.split('\n')) {
    const [, index, reason] = /^events\[(\d+)\]\.?(.*)$/.exec(line) ?? []
    if (index !== undefined && reason !== undefined) faults.set(Number(index), reason.replace(/^: /, ''))
  }
  return faults
}
