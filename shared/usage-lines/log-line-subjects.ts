import type { UsageEvent } from '../domain/usage-event.ts'
import { parseMicros } from '../time/micros-text.ts'
import { ACCOUNT, NAMESPACE, parseLogLine, SOURCE } from './log-line.ts'

/** Whose usage a line of the event log reports, when it occurred, in Unix seconds, and when it was accepted. */
export type LogLineSubject = Pick<UsageEvent, 'namespaceId' | 'accountId' | 'occurredAt' | 'acceptedAt'>

/** What is left of an event when no more than its subject is kept. */
export const subjectOf = ({
  namespaceId,
  accountId,
  occurredAt,
  acceptedAt,
}: LogLineSubject): LogLineSubject => ({
  namespaceId,
  accountId,
  occurredAt,
  acceptedAt,
})

/** What a pattern of a whole text asks, for use in a longer one. */
const within = (whole: RegExp): string => whole.source.slice('^'.length, -'$'.length)

const TEXT = String.raw`"[^"\\\x00-\x1f]*"`
const SCALAR = String.raw`(?:${TEXT}|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)`
const TIME = String.raw`"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6})"`
const listOf = (item: string): string => `(?:${item}(?:,${item})*)?`

/**
 * A line exactly as usageEventToLine writes it, when its properties are flat and their text needs no escapes: all that
 * parseLogLine asks of it, but for what its times say. Versions of 20 digits, which could be too large, are left to
 * that.
 */
const PLAIN_LINE = new RegExp(
  String.raw`\{"namespace_id":"(${within(NAMESPACE)})","account_id":"(${within(ACCOUNT)})","source":"${within(SOURCE)}"` +
    String.raw`,"occurred_at":(0|[1-9]\d{0,9}),"event_id":"event_([0-9a-f]{8})[0-9a-f]{24}"` +
    String.raw`,"quantity":"-?\d{1,20}(?:\.\d{1,18})?"` +
    String.raw`,"properties":\{${listOf(`${TEXT}:${SCALAR}`)}\},"property_pairs":\[${listOf(TEXT)}\]` +
    String.raw`,"accepted_at":${TIME}(?:,"corrected_at":${TIME})?,"voided":[01],"version":"\d{1,19}"\}(?=\n|$)`,
  'y',
)

/**
 * Reads lines of the event log for whom they are about; as strict as parseLogLine.
 *
 * Why not that alone: this is done for every event, and reading lines as JSON, to look at each field, takes twice as
 * long.
 *
 * @param text lines, each but the last ended by a line end; no text is one empty line
 * @returns undefined when one of them cannot be counted
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

/** @returns undefined when it is not plain, or cannot be counted; else PLAIN_LINE's lastIndex is where it ends */
function readPlainLine(text: string, start: number): LogLineSubject | undefined {
  PLAIN_LINE.lastIndex = start
  const [, namespaceId, accountId, seconds, idSeconds, accepted, corrected] = PLAIN_LINE.exec(text) ?? []
  if (namespaceId === undefined || accountId === undefined || accepted === undefined) return undefined
  const occurredAt = Number(seconds)
  if (idSeconds === undefined || parseInt(idSeconds, 16) !== occurredAt) return undefined
  const acceptedAt = parseMicros(accepted)
  if (acceptedAt === undefined) return undefined
  if (corrected !== undefined && parseMicros(corrected) === undefined) return undefined
  if (namespaceId !== lastNamespaceId) lastNamespaceId = copyOf(namespaceId)
  return { namespaceId: lastNamespaceId, accountId: copyOf(accountId), occurredAt, acceptedAt }
}

/** Lines that follow each other are mostly of one company. */
let lastNamespaceId = ''

/** Text that was found in another keeps all of that in memory. */
const copyOf = (ascii: string): string => Buffer.from(ascii, 'latin1').toString('latin1')

function parseSubject(line: string): LogLineSubject | undefined {
  const parsed = parseLogLine(line)
  return 'fault' in parsed ? undefined : subjectOf(parsed.event)
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start)
  return end < 0 ? text.length : end
}
