import { apiErrorOf } from './api-errors.ts'
import { type CallFacts, NotTallyError, type TallyError } from './errors.ts'
import { isTallysError } from './faults.ts'
import type { OperationFacts } from './operation-facts.ts'
import { miscounted } from './reports.ts'
import type { TransportAnswer } from './transport.ts'

/** Either the value of an answer, or why it is none. */
export type Judged = { value: unknown } | { error: TallyError }

/**
 * Judges an answer. Only the status and the media type of the contract mean success: a network's login page answers 200,
 * too, and would lose a report.
 *
 * @param sent the body of the request, before it became text
 */
export function judge(
  operation: OperationFacts,
  sent: unknown,
  answer: TransportAnswer,
  facts: CallFacts,
): Judged {
  const { status, text } = answer
  if (isTallysError(answer)) return { error: apiErrorOf(answer, facts) }
  const notTally = (why: string) => ({
    error: new NotTallyError(`the answer is not Tally's: ${why}`, { status, text }, facts),
  })
  if (status !== operation.status) return notTally(`its status is ${status}, not ${operation.status}`)
  const [mediaType = ''] = (answer.headers['content-type'] ?? '').split(';')
  if (mediaType.trim().toLowerCase() !== operation.mediaType)
    return notTally(`it is ${mediaType === '' ? 'of no type' : mediaType}, not ${operation.mediaType}`)
  if (operation.mediaType !== 'application/json') return { value: text }
  const value = parseObject(text)
  if (value === undefined) return notTally('it is no JSON object')
  const fault = miscounted(operation, sent, value)
  return fault === undefined ? { value } : notTally(fault)
}

function parseObject(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** A 409 which says that the Idempotency-Key was used before. */
export interface UsedKey {
  /** What the request with that key made, if the answer names it. */
  id: string | undefined
  /** Whether that was a request with another content, so that nothing of this one was done. */
  isOther: boolean
}

const USED_BEFORE = /^Idempotency-Key: this key was used before(?:, for ([^\s,]+))?(, with another content)?/

/** @returns undefined when the answer says something else */
export function usedKeyOf({ status, headers, text }: TransportAnswer): UsedKey | undefined {
  const named = headers['idempotency-resource']
  const match = USED_BEFORE.exec(text)
  if (status !== 409 || (named === undefined && match === null)) return undefined
  // A server older than the header names it in the text alone.
  return { id: named ?? match?.[1], isOther: match?.[2] !== undefined }
}
