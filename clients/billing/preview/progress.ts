import cliProgress from 'cli-progress'
import { printableLines } from '../../../shared/text/printable.ts'

/** Shows how many contracts are written, while it goes on. */
export interface Progress {
  /** Writes a line about something that happened. */
  note: (line: string) => void
  update: (done: number) => void
  stop: () => void
}

const PLAIN_EVERY_MS = 5_000

/**
 * A bar on a terminal, else a line every few seconds. How many contracts there are is known when the last page came:
 * until then the bar reaches for one page more than is there.
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
      gracefulExit: false, // Ctrl-C is ours
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
      bars.update() // stop() forgets lines that are not written yet
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
