import { identityNumber, type UsageEvent } from '../domain/usage-event.ts'
import { parseMicros } from '../time/micros-text.ts'
import { ACCOUNT, NAMESPACE, parseLogLine, SOURCE } from './log-line.ts'

/**
 * Part of a log line: the account of the event, the time at which it occurred (in Unix seconds), the time of its
 * acceptance, and a part of its id.
 */
export interface LogLineSubject extends Pick<
  UsageEvent,
  'namespaceId' | 'accountId' | 'occurredAt' | 'acceptedAt'
> {
  /** @see identityNumber */
  identity: number
}

/** Reduces an event to its subject. */
export const subjectOf = ({
  namespaceId,
  accountId,
  occurredAt,
  acceptedAt,
  id,
}: UsageEvent): LogLineSubject => ({
  namespaceId,
  accountId,
  occurredAt,
  acceptedAt,
  identity: identityNumber(id),
})

/** The pattern of a whole text, without `^` and `$`, for use in a longer pattern. */
const within = (whole: RegExp): string => whole.source.slice('^'.length, -'$'.length)

const TEXT = String.raw`"[^"\\\x00-\x1f]*"`
const SCALAR = String.raw`(?:${TEXT}|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)`
const TIME = String.raw`"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6})"`
const listOf = (item: string): string => `(?:${item}(?:,${item})*)?`

/**
 * Matches a line exactly as usageEventToLine writes it, if its properties are flat and their text needs no escapes. It
 * checks everything that parseLogLine checks, except the values of times. It does not match versions of 20 digits,
 * which could be too large. parseLogLine reads those.
 */
const PLAIN_LINE = new RegExp(
  String.raw`\{"namespace_id":"(${within(NAMESPACE)})","account_id":"(${within(ACCOUNT)})","source":"${within(SOURCE)}"` +
    String.raw`,"occurred_at":(0|[1-9]\d{0,9}),"event_id":"event_([0-9a-f]{8})([0-9a-f]{12})[0-9a-f]{12}"` +
    String.raw`,"quantity":"-?\d{1,20}(?:\.\d{1,18})?"` +
    String.raw`,"properties":\{${listOf(`${TEXT}:${SCALAR}`)}\},"property_pairs":\[${listOf(TEXT)}\]` +
    String.raw`,"accepted_at":${TIME}(?:,"corrected_at":${TIME})?,"voided":[01],"version":"\d{1,19}"\}(?=\n|$)`,
  'y',
)

/**
 * Reads only the subjects of lines of the event log. It is as strict as parseLogLine.
 *
 * Why not parseLogLine alone: this runs for every event, and parsing lines as JSON to check each field is slower.
 *
 * @param text lines with a line end after each; the last one may lack it. An empty text is one empty line
 * @returns undefined when a line cannot be counted
 */
export function readLogLineSubjects(text: string): LogLineSubject[] | undefined {
  const subjects: LogLineSubject[] = []
  for (let start = 0; start < text.length || subjects.length === 0;) {
    const plain = readPlainLine(text, start)
    const end = plain === undefined ? endOfLine(text, start) : PLAIN_LINE.lastIndex
    const subject = plain ?? parseSubject(text.slice(start, end))
    if (subject === undefined) return undefined
    subjects.push(subject)
    start = end + 1
  }
  return subjects
}

/**
 * @returns undefined when the line is not plain or cannot be counted; otherwise PLAIN_LINE.lastIndex is the end of the
 *   line
 */
function readPlainLine(text: string, start: number): LogLineSubject | undefined {
  PLAIN_LINE.lastIndex = start
  const [, namespaceId, accountId, seconds, idSeconds, idDigits, accepted, corrected] =
    PLAIN_LINE.exec(text) ?? []
  if (namespaceId === undefined || accountId === undefined || accepted === undefined) return undefined
  const occurredAt = Number(seconds)
  if (idSeconds === undefined || idDigits === undefined || parseInt(idSeconds, 16) !== occurredAt)
    return undefined
  const acceptedAt = parseMicros(accepted)
  if (acceptedAt === undefined) return undefined
  if (corrected !== undefined && parseMicros(corrected) === undefined) return undefined
  if (namespaceId !== lastNamespaceId) lastNamespaceId = copyOf(namespaceId)
  return {
    namespaceId: lastNamespaceId,
    accountId: copyOf(accountId),
    occurredAt,
    acceptedAt,
    identity: parseInt(idDigits, 16),
  }
}

/** Kept, because consecutive lines mostly have the same namespace. */
let lastNamespaceId = ''

/** A copy of a text. A substring would keep the whole text in memory. */
const copyOf = (ascii: string): string => Buffer.from(ascii, 'latin1').toString('latin1')

function parseSubject(line: string): LogLineSubject | undefined {
  const parsed = parseLogLine(line)
  return 'fault' in parsed ? undefined : subjectOf(parsed.event)
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start)
  return end < 0 ? text.length : end
}
