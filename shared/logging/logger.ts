import { pino, type DestinationStream, type Logger } from 'pino'

export type { Logger }

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** At a terminal; nobody else pays for loading it. */
const pretty = process.stderr.isTTY ? (await import('pino-pretty')).default : undefined

/** Lines for people at a terminal, JSON for everybody else. */
const standardError = (): DestinationStream =>
  pretty === undefined
    ? pino.destination({ fd: 2, sync: true })
    : pretty({ destination: 2, sync: true, singleLine: true, translateTime: 'SYS:HH:MM:ss' })

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
