import { CommanderError } from 'commander'
import { ConfigError } from '../../../shared/config/env-reader.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { isUsageError } from '../../../shared/errors/usage-error.ts'
import {
  AbortedError,
  BadRequestError,
  ConnectionError,
  ForbiddenError,
  InvalidKeyError,
  NotTallyError,
  RateLimitedError,
  RequestTimeoutError,
  ServerError,
  TallyError,
  TimeoutError,
} from '../../sdk/src/node.ts'

export const EXIT_OK = 0
/** Tally refused, or something else went wrong. The same command would fail again. */
export const EXIT_FAILED = 1
/** The words of the command are wrong. Nothing was sent. */
const EXIT_USAGE = 2
/** Tally could not be reached, or had no time. Later the same command may succeed. */
const EXIT_LATER = 75
export const EXIT_INTERRUPTED = 130

/** Thrown when something is left to do, and the same command may do it later. */
export class TryLaterError extends Error {}

/** How a command ended that did not succeed. */
export interface Failure {
  code: number
  /** Says what happened, and what to do next. */
  text: string
}

/** Whether the same request may succeed later. */
export const isTemporary = (err: unknown): boolean =>
  [ConnectionError, TimeoutError, RequestTimeoutError, RateLimitedError, ServerError].some((kind) =>
    kind.is(err),
  )

/**
 * Says how a command ended that threw.
 *
 * @returns undefined for an error of the program, which must be shown with its stack
 */
export function failureOf(err: unknown): Failure | undefined {
  if (isUsageError(err)) {
    const isSaid = err.message.endsWith('see --help')
    return { code: EXIT_USAGE, text: `${err.message}${isSaid ? '' : '; see --help'}` }
  }
  if (err instanceof CommanderError) return failureOfWords(err)
  if (err instanceof StartupError || err instanceof ConfigError)
    return { code: EXIT_FAILED, text: err.message }
  if (err instanceof TryLaterError) return { code: EXIT_LATER, text: `${err.message}; try again later` }
  if (AbortedError.is(err)) return { code: EXIT_INTERRUPTED, text: 'interrupted' }
  if (!TallyError.is(err)) return undefined
  const code = isTemporary(err) ? EXIT_LATER : EXIT_FAILED
  return { code, text: `${oneLine(err.message)}${nextStep(err)}` }
}

/** Help is an error for commander, too. */
function failureOfWords({ code, exitCode, message }: CommanderError): Failure {
  if (exitCode === 0) return { code: EXIT_OK, text: '' }
  // The help that was shown says which there are.
  if (code === 'commander.help') return { code: EXIT_USAGE, text: 'a command is missing; see above' }
  return { code: EXIT_USAGE, text: `${oneLine(message.replace(/^error: /, ''))}; see --help` }
}

const oneLine = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .join('; ')

function nextStep(err: TallyError): string {
  if (RateLimitedError.is(err) && err.retryAfterMs !== undefined)
    return `; try again in ${Math.ceil(err.retryAfterMs / 1_000)} s`
  if (isTemporary(err)) return '; try again later'
  if (InvalidKeyError.is(err))
    return '; check TALLY_API_KEY or --key-file if you use them, else log in again: tally login'
  if (ForbiddenError.is(err)) return '; use another key: --profile or --key-file'
  if (NotTallyError.is(err)) return '; check the address: --url'
  return BadRequestError.is(err) ? '; see --help' : ''
}
