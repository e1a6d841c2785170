import { UsageError } from '../shared/errors/usage-error.ts'

const EVENTS_MAX = 1_000_000_000
const FACTORS: Record<string, number> = { '': 1, k: 1e3, M: 1e6 }

/**
 * Reads a number of events: 250000, 250k, 100M.
 * @throws UsageError when the text is not a number of events
 */
export function parseEvents(option: string, text: string): number {
  const [, digits = '', letter = ''] = /^(\d{1,9})([kM]?)$/.exec(text) ?? []
  const events = digits === '' ? NaN : Number(digits) * (FACTORS[letter] ?? NaN)
  if (events >= 1 && events <= EVENTS_MAX) return events
  throw new UsageError(
    `--${option} must be a number of events such as 250000, 250k or 100M, at most 1000M, not ${JSON.stringify(text)}`,
  )
}

/** Formats a number of events for names of files: 1000000 is 1M. */
export function formatEvents(events: number): string {
  if (events % 1e6 === 0) return `${events / 1e6}M`
  return events % 1e3 === 0 ? `${events / 1e3}k` : String(events)
}
