import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiRequest } from '../format/curl.ts'
import { CallError, pauseMs } from './call.ts'
import { type Client, useClient } from './client.ts'
import type { ReadPath } from './contract.ts'

/** What one form sends, however often it is tried. */
export interface Submission {
  /** The Idempotency-Key of all its attempts. */
  readonly key: string
  /** Whether an attempt ended without saying whether it was done. */
  mayBeDone: boolean
}

const KEY_BYTES = 16

/** Begins the submission of a form. crypto.randomUUID is missing on a plain http address. */
export function newSubmission(): Submission {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  const key = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { key: `console-${key}`, mayBeDone: false }
}

/** What became of a submission. */
export interface Outcome<T> {
  /** The answer; undefined when an earlier attempt had been done. */
  answer: T | undefined
  /** What Tally says about the earlier attempt. */
  earlier: string | undefined
}

const ATTEMPTS = 3

/**
 * Tally refuses a key that was used, and names what the first request made. If the first request had another content,
 * nothing of this one was done.
 */
const isDoneBefore = (err: CallError): boolean =>
  err.status === 409 &&
  err.message.startsWith('Idempotency-Key:') &&
  !err.message.includes('with another content')

/**
 * Sends a request until its outcome is known. Each attempt has the same key, so that nothing is done twice.
 *
 * @throws CallError when it is refused, or when its outcome is still unknown after some attempts
 */
export async function sendSurely<T>(
  client: Client,
  request: ApiRequest,
  submission: Submission,
): Promise<Outcome<T>> {
  for (let attempt = 1; ; attempt++)
    try {
      return { answer: (await client.call(request)) as T, earlier: undefined }
    } catch (err) {
      if (!(err instanceof CallError)) throw err
      if (submission.mayBeDone && isDoneBefore(err)) return { answer: undefined, earlier: err.message }
      if (!err.isUnknown && !err.isPassing) throw err
      if (err.isUnknown) submission.mayBeDone = true
      if (attempt === ATTEMPTS) throw err
      const waitMs = pauseMs(attempt, err)
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
}

export interface Write<T> {
  /** The request as it is sent and shown. */
  prepare(request: ApiRequest): ApiRequest
  send(request: ApiRequest): void
  isSending: boolean
  error: Error | null
  outcome: Outcome<T> | undefined
}

/**
 * Sends what a form makes.
 *
 * @param changes the reads whose answers change; they are read again also when the outcome is unknown
 * @param onDone called when it was done
 * @param hasOwnKey whether the request has a key in its body, so that it may be sent again and again
 * @param isSecret whether only `onDone` may have the answer: then no cache has it, and `outcome` lacks it
 */
export function useWrite<T>(
  changes: readonly ReadPath[] | 'all',
  onDone: (outcome: Outcome<T>) => void,
  { hasOwnKey = false, isSecret = false }: { hasOwnKey?: boolean; isSecret?: boolean } = {},
): Write<T> {
  const client = useClient()
  const queries = useQueryClient()
  const [submission] = useState(newSubmission)
  const prepare = (request: ApiRequest): ApiRequest =>
    request.method === 'POST' && request.body !== undefined && !hasOwnKey
      ? { ...request, idempotencyKey: submission.key }
      : request
  const mutation = useMutation({
    mutationFn: async (request: ApiRequest): Promise<Outcome<T>> => {
      const outcome = await sendSurely<T>(client, prepare(request), submission)
      onDone(outcome)
      return isSecret ? { ...outcome, answer: undefined } : outcome
    },
    onSettled: () =>
      queries.invalidateQueries({
        predicate: ({ queryKey }) => changes === 'all' || changes.some((path) => path === queryKey[1]),
      }),
  })
  return {
    prepare,
    send: (request) => {
      mutation.mutate(request)
    },
    isSending: mutation.isPending,
    error: mutation.error,
    outcome: mutation.data,
  }
}
