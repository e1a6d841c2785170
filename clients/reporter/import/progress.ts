import cliProgress from 'cli-progress'
import { printableLines } from '../../../shared/text/printable.ts'
import type { ImportCounts } from './import-counts.ts'

/** Shows the progress of an import. */
export interface Progress {
  /** Writes a line about something that happened. */
  note: (line: string) => void
  stop: () => void
}

const PLAIN_EVERY_MS = 5_000
const BAR_EVERY_MS = 200

/**
 * Shows a bar on a terminal when the length of the input is known, otherwise a line every few seconds.
 *
 * @param bytesTotal the length of the input, or undefined
 * @param screen the terminal, or undefined
 */
export function showProgress(
  counts: ImportCounts,
  bytesTotal: number | undefined,
  screen: NodeJS.WriteStream | undefined,
  err: (line: string) => void,
): Progress {
  if (screen !== undefined && bytesTotal !== undefined) return barProgress(counts, bytesTotal, screen)
  return plainProgress(counts, bytesTotal, err)
}

function barProgress(counts: ImportCounts, bytesTotal: number, screen: NodeJS.WriteStream): Progress {
  const startedAt = performance.now()
  // Why a MultiBar for one bar: only it can write lines above the bar.
  const bars = new cliProgress.MultiBar(
    {
      stream: screen,
      format:
        '{bar} {percentage}% | {lines} lines | {events} events | {bad} bad lines | {rate} events/s | {eta_formatted} left',
      gracefulExit: false, // this program handles Ctrl-C itself
      linewrap: false,
      etaBuffer: 100,
    },
    cliProgress.Presets.shades_classic,
  )
  const payload = () => ({
    lines: format(counts.lines),
    events: format(counts.events),
    bad: format(counts.badLines),
    rate: format(ratePerSecond(counts.events, performance.now() - startedAt)),
  })
  const bar = bars.create(bytesTotal, 0, payload())
  const timer = setInterval(() => {
    bar.update(counts.bytes, payload())
  }, BAR_EVERY_MS)
  return {
    note: (line) => {
      bars.log(`${printableLines(line)}\n`)
    },
    stop: () => {
      clearInterval(timer)
      bar.update(counts.bytes, payload())
      bars.update() // writes the lines that still wait; bars.stop() would drop them
      bars.stop()
    },
  }
}

function plainProgress(
  counts: ImportCounts,
  bytesTotal: number | undefined,
  err: (line: string) => void,
): Progress {
  const startedAt = performance.now()
  const timer = setInterval(() => {
    const ms = performance.now() - startedAt
    const read = bytesTotal === undefined ? '' : `${Math.floor((counts.bytes / bytesTotal) * 100)}% read, `
    err(
      `${(ms / 1_000).toFixed(0)} s: ${read}${format(counts.lines)} lines, ${format(counts.events)} events sent, ` +
        `${format(counts.badLines)} bad lines, ${format(ratePerSecond(counts.events, ms))} events/s`,
    )
  }, PLAIN_EVERY_MS)
  return {
    note: err,
    stop: () => {
      clearInterval(timer)
    },
  }
}

const ratePerSecond = (count: number, ms: number): number => Math.round(count / Math.max(ms / 1_000, 0.001))

const format = (count: number): string => count.toLocaleString('en-US')
