import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import { writeToStandardError } from './standard-error.ts'

export type { Logger }

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** At a terminal; nobody else pays for loading it. */
const pretty = process.stderr.isTTY ? (await import('pino-pretty')).default : undefined

/**
 * Lines for people at a terminal, JSON for everybody else. Why not pino's own destination: when a write fails it throws
 * into whoever logs, and keeps what it could not write without a bound.
 */
const standardError = (): DestinationStream =>
  pretty === undefined
    ? { write: writeToStandardError }
    : pretty({ destination: lineStream(), singleLine: true, translateTime: 'SYS:HH:MM:ss' })

const lineStream = (): Writable =>
  new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      writeToStandardError(line.toString())
      done()
    },
  })

/**
 * The root logger of a process, on standard error, so that standard output stays for what a command prints.
 * API keys, passwords and payloads never reach it; the paths below are the second line of defence.
 *
 * @param destination for tests
 */
export function createLogger(level: LogLevel, destination: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          '*.headers',
          'headers',
          '*.body',
          'body',
          '*.password',
          '*.apiKey',
          '*.properties',
          '*.value',
          'err.detail', // PostgreSQL's, of a row it does not take: the row
        ],
        censor: '(hidden)',
      },
    },
    destination,
  )
}
