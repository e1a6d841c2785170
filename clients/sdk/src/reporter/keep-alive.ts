/** What must not end unfinished when a process has nothing else to do. */
interface Unfinished {
  /** @returns when the process may end */
  finish: () => Promise<void>
  isFinished: () => boolean
}

const all = new Set<Unfinished>()
/** Node ends the process when only unref'd timers are left. This one keeps it. */
const TICK_MS = 1_000_000_000

function beforeExit(): void {
  const open = [...all].filter(({ isFinished }) => !isFinished())
  if (open.length === 0) return
  const timer = setInterval(() => undefined, TICK_MS)
  void Promise.all(open.map(({ finish }) => finish())).finally(() => {
    clearInterval(timer)
  })
}

/** Finishes before the process ends by itself. @returns the function that ends this */
export function finishBeforeExit(unfinished: Unfinished): () => void {
  if (all.size === 0) process.on('beforeExit', beforeExit)
  all.add(unfinished)
  return () => {
    all.delete(unfinished)
    if (all.size === 0) process.off('beforeExit', beforeExit)
  }
}

/** Closes on signals, and then lets the signal do what it does. @returns the function that ends this */
export function closeOnSignals(
  signals: readonly NodeJS.Signals[],
  close: () => Promise<unknown>,
): () => void {
  const end = () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
  const onSignal = (signal: NodeJS.Signals) => {
    const passOn = () => {
      end()
      process.kill(process.pid, signal)
    }
    close().then(passOn, passOn)
  }
  for (const signal of signals) process.on(signal, onSignal)
  return end
}
