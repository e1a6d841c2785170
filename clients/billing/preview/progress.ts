import cliProgress from 'cli-progress'
import { printableLines } from '../../../shared/text/printable.ts'

/** Shows how many contracts are written so far. */
export interface Progress {
  /** Writes a line about something that happened. */
  note: (line: string) => void
  update: (done: number) => void
  stop: () => void
}

const PLAIN_EVERY_MS = 5_000

/**
 * Shows a bar on a terminal, otherwise a line every few seconds. The number of contracts is known only when the last
 * page is read. Until then, the bar ends one page ahead.
 *
 * @param page how many contracts a page has
 * @param screen the terminal, or undefined
 */
export function showProgress(
  page: number,
  screen: NodeJS.WriteStream | undefined,
  err: (line: string) => void,
): Progress {
  if (screen === undefined) return plainProgress(err)
  const bars = new cliProgress.MultiBar(
    {
      stream: screen,
      format: '{bar} {value} contracts | {duration_formatted}',
      gracefulExit: false, // this program handles Ctrl-C itself
      linewrap: false,
    },
    cliProgress.Presets.shades_classic,
  )
  const bar = bars.create(page, 0)
  let done = 0
  return {
    note: (line) => {
      bars.log(`${printableLines(line)}\n`)
    },
    update(count) {
      done = count
      bar.setTotal(count + page)
      bar.update(count)
    },
    stop() {
      bar.setTotal(done)
      bar.update(done)
      bars.update() // stop() drops lines that are not written yet
      bars.stop()
    },
  }
}

function plainProgress(err: (line: string) => void): Progress {
  let toldAt = performance.now()
  return {
    note: err,
    update(count) {
      if (performance.now() - toldAt < PLAIN_EVERY_MS) return
      toldAt = performance.now()
      err(`${count.toLocaleString('en-US')} contracts`)
    },
    stop: () => undefined,
  }
}
