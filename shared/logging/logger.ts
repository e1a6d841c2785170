import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import { writeToStandardError } from './standard-error.ts'

export type { Logger }

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Loaded only at a terminal, because loading it takes time. */
const pretty = process.stderr.isTTY ? (await import('pino-pretty')).default : undefined

/**
 * Lines for people at a terminal, otherwise JSON. Why not pino's own destination: when a write fails, it throws into
 * the code that logs, and it keeps an unlimited number of lines that it could not write.
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
 * The root logger of a process, on standard error: standard output is for the results of commands. API keys,
 * passwords and payloads are never logged; the paths below are the second line of defence.
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
          'err.detail', // PostgreSQL quotes the refused row here
        ],
        censor: '(hidden)',
      },
    },
    destination,
  )
}
