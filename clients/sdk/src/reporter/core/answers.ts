import { faultText, isTallysError, parseFaults } from '../../core/faults.ts'
import { parseDate, parseRetryAfter } from '../../core/retries.ts'
import type { TransportAnswer } from '../../core/transport.ts'
import type { Blocked, Failing, Fault, LookUpOutcome, Outcome } from './outcome.ts'

const TEXT_MAX = 300

/**
 * Says what an answer to a batch means.
 *
 * @param count how many events the batch has
 * @param occurredAtOf the time of the event at a place in the batch, in Unix seconds
 * @param now for a Retry-After that is a date: milliseconds since 1970
 */
export function outcomeOf(
  answer: TransportAnswer,
  count: number,
  occurredAtOf: (index: number) => number | undefined,
  now: number,
): Outcome {
  const { status, text } = answer
  if (isSuccess(status))
    return status === 202 && acceptedIn(text) === count ? { kind: 'accepted' } : notTallys(answer)
  // A proxy may also find a body too large, and a smaller one may pass.
  if (status === 413) return { kind: 'refused', text: describe(answer), faults: [] }
  if ((status === 400 || status === 422) && isTallysError(answer) && saysItsType(answer)) {
    const faults = faultsIn(text).filter(({ index }) => index < count)
    return {
      kind: 'refused',
      text: describe(answer),
      faults: status === 422 ? withLead(faults, answer, occurredAtOf) : faults,
    }
  }
  return failureOf(answer, now)
}

/** Says what an answer to a look-up by external id means. */
export function lookUpOutcomeOf(answer: TransportAnswer, name: string, now: number): LookUpOutcome {
  const id = answer.status === 200 ? idIn(answer.text) : undefined
  if (id !== undefined) return { kind: 'found', id }
  if (isSuccess(answer.status)) return notTallys(answer)
  if (answer.status === 404 && isTallysError(answer))
    return { kind: 'missing', text: `there is no ${name.replace(':', ' ')}` }
  return failureOf(answer, now)
}

/** Says what an answer means that is neither a success nor about the content of the request. */
function failureOf(answer: TransportAnswer, now: number): Failing | Blocked {
  const { status } = answer
  if (status === 408 || status === 429 || status >= 500)
    return {
      kind: 'failing',
      text: describe(answer),
      retryAfterMs: parseRetryAfter(answer.headers['retry-after'], now) ?? 0,
    }
  return { kind: 'blocked', text: describe(answer) }
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const notTallys = ({ status }: TransportAnswer): Blocked => ({
  kind: 'blocked',
  text: `${status}, but not as Tally answers: is this the URL of a Tally?`,
})

function describe({ status, text }: TransportAnswer): string {
  const [line = ''] = text.split('\n')
  const shown = line.trim()
  return `${status} ${shown.length > TEXT_MAX ? `${shown.slice(0, TEXT_MAX)}…` : shown}`.trim()
}

/** Finds the faults of single events. */
const faultsIn = (text: string): Fault[] =>
  parseFaults(text).flatMap((fault) =>
    fault.index === undefined ? [] : [{ index: fault.index, reason: faultText(fault) }],
  )

/** Adds to faults of `occurred_at` how far the event is ahead of the clock of Tally's machine. */
function withLead(
  faults: readonly Fault[],
  { headers }: TransportAnswer,
  occurredAtOf: (index: number) => number | undefined,
): Fault[] {
  const servedAt = parseDate(headers['date'])
  if (servedAt === undefined) return [...faults]
  return faults.map((fault) => {
    if (!fault.reason.startsWith('occurred_at:')) return fault
    const occurredAt = occurredAtOf(fault.index)
    const aheadMs = occurredAt === undefined ? 0 : occurredAt * 1_000 - servedAt
    return aheadMs > 0 ? { ...fault, aheadMs } : fault
  })
}

/** Tally always says that its errors are text. A server in between that cannot read a request often says nothing. */
const saysItsType = ({ headers, text }: TransportAnswer): boolean =>
  headers['content-type'] !== undefined || parseFaults(text).length > 0

const acceptedIn = (text: string): unknown => fieldIn(text, 'accepted')

function idIn(text: string): string | undefined {
  const id = fieldIn(text, 'id')
  return typeof id === 'string' && id !== '' ? id : undefined
}

function fieldIn(text: string, field: string): unknown {
  try {
    const body = JSON.parse(text) as unknown
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined
  } catch {
    return undefined
  }
}
