import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import { writeToStandardError } from './standard-error.ts'

export type { Logger }

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** pino-pretty is loaded only at a terminal, because loading takes time. */
const pretty = process.stderr.isTTY ? (await import('pino-pretty')).default : undefined

/**
 * Writes lines for people at a terminal, and JSON otherwise. Why not pino's own destination: when a write fails, that
 * destination throws in the code that logs, and keeps an unlimited number of unwritten lines.
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
 * The root logger of a process. It writes to standard error, because standard output is for the results of commands.
 * The code never logs API keys, passwords or payloads. The paths below are the second line of defence.
 *
 * @param destination set only by tests
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
          'err.detail', // here, PostgreSQL quotes the row that it refused
        ],
        censor: '(hidden)',
      },
    },
    destination,
  )
}
