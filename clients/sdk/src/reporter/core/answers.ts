import type { Blocked, Failing, Fault, LookUpOutcome, Outcome } from './outcome.ts'

/** An answer to a request, with the headers that matter here. */
export interface HttpAnswer {
  status: number
  text: string
  contentType?: string | undefined
  retryAfter?: string | undefined
  date?: string | undefined
}

const TEXT_MAX = 300

/**
 * Says what an answer to a batch means.
 *
 * @param count how many events the batch has
 * @param occurredAtOf the time of the event at a place in the batch, in Unix seconds
 * @param now for a Retry-After that is a date: milliseconds since 1970
 */
export function outcomeOf(
  answer: HttpAnswer,
  count: number,
  occurredAtOf: (index: number) => number | undefined,
  now: number,
): Outcome {
  const { status, text } = answer
  if (isSuccess(status))
    return status === 202 && acceptedIn(text) === count ? { kind: 'accepted' } : notTallys(answer)
  // A proxy may also find a body too large, and a smaller one may pass.
  if (status === 413) return { kind: 'refused', text: describe(answer), faults: [] }
  if ((status === 400 || status === 422) && !isMarkup(answer)) {
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
export function lookUpOutcomeOf(answer: HttpAnswer, name: string, now: number): LookUpOutcome {
  const id = answer.status === 200 ? idIn(answer.text) : undefined
  if (id !== undefined) return { kind: 'found', id }
  if (isSuccess(answer.status)) return notTallys(answer)
  // Why the text is compared: a proxy that has no such route answers with 404 as well.
  if (answer.status === 404 && answer.text.trim() === 'not found')
    return { kind: 'missing', text: `there is no ${name.replace(':', ' ')}` }
  return failureOf(answer, now)
}

/** Says what an answer means that is neither a success nor about the content of the request. */
function failureOf(answer: HttpAnswer, now: number): Failing | Blocked {
  const { status } = answer
  if (status === 408 || status === 429 || status >= 500)
    return { kind: 'failing', text: describe(answer), retryAfterMs: parseRetryAfter(answer.retryAfter, now) }
  return { kind: 'blocked', text: describe(answer) }
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const notTallys = ({ status }: HttpAnswer): Blocked => ({
  kind: 'blocked',
  text: `${status}, but not as Tally answers: is this the URL of a Tally?`,
})

/** Tally's errors are plain text. A page is from something in between. */
const isMarkup = ({ contentType = '', text }: HttpAnswer): boolean =>
  /\bhtml\b/i.test(contentType) || /^\s*</.test(text)

function describe({ status, text }: HttpAnswer): string {
  const [line = ''] = text.split('\n')
  const shown = line.trim()
  return `${status} ${shown.length > TEXT_MAX ? `${shown.slice(0, TEXT_MAX)}…` : shown}`.trim()
}

/** Reads lines such as `events[3].quantity: …`. */
function faultsIn(text: string): Fault[] {
  const faults: Fault[] = []
  for (const line of text.split('\n')) {
    const [, index, reason] = /^events\[(\d{1,9})\]\.?(.*)$/.exec(line) ?? []
    if (index !== undefined && reason !== undefined)
      faults.push({ index: Number(index), reason: reason.replace(/^: /, '') })
  }
  return faults
}

/** Adds to faults of `occurred_at` how far the event is ahead of the clock of Tally's machine. */
function withLead(
  faults: readonly Fault[],
  { date }: HttpAnswer,
  occurredAtOf: (index: number) => number | undefined,
): Fault[] {
  const servedAt = parseDate(date)
  if (servedAt === undefined) return [...faults]
  return faults.map((fault) => {
    if (!fault.reason.startsWith('occurred_at:')) return fault
    const occurredAt = occurredAtOf(fault.index)
    const aheadMs = occurredAt === undefined ? 0 : occurredAt * 1_000 - servedAt
    return aheadMs > 0 ? { ...fault, aheadMs } : fault
  })
}

/** @returns milliseconds since 1970; undefined when there is no valid date */
export function parseDate(header: string | undefined): number | undefined {
  const at = header === undefined ? Number.NaN : Date.parse(header)
  return Number.isNaN(at) ? undefined : at
}

/** Reads a Retry-After, which has seconds or a date. @returns milliseconds; 0 when it is absent or not valid */
function parseRetryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1_000
  return Math.max((parseDate(header) ?? now) - now, 0)
}

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
