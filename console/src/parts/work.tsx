import './work.css'
import { useRef, useState } from 'react'
import { useSecond, useWhenGone } from '../app/effects.ts'
import { Problem } from './problem.tsx'

/** Work that takes a while: it counts, and can be stopped. */
export interface Working {
  start(): void
  stop(): void
  isRunning: boolean
  count: number
  startedAt: number
  error: Error | undefined
}

/**
 * Work of a part of the page. When the part is gone, for example after signing out, the work is stopped.
 *
 * @param job gets a signal that ends it, and a function that it calls with its count so far
 */
export function useWork(
  job: (signal: AbortSignal, onCount: (count: number) => void) => Promise<void>,
): Working {
  const [stopping, setStopping] = useState<AbortController>()
  const running = useRef<AbortController>(undefined)
  useWhenGone(() => {
    running.current?.abort()
  })
  const [count, setCount] = useState(0)
  const [startedAt, setStartedAt] = useState(0)
  const [error, setError] = useState<Error>()
  const start = () => {
    const controller = new AbortController()
    setStopping(controller)
    running.current = controller
    setCount(0)
    setStartedAt(Math.floor(Date.now() / 1_000))
    setError(undefined)
    job(controller.signal, setCount)
      .catch((err: unknown) => {
        if (!controller.signal.aborted) setError(err instanceof Error ? err : new Error(String(err)))
      })
      .then(
        () => setStopping(undefined),
        () => undefined,
      )
  }
  return { start, stop: () => stopping?.abort(), isRunning: stopping !== undefined, count, startedAt, error }
}

/** Shows what work does, and how far it is. */
export function Work({ work, doing, counted }: { work: Working; doing: string; counted: string }) {
  if (work.error !== undefined) return <Problem error={work.error} onAgain={() => work.start()} />
  if (!work.isRunning) return null
  return (
    <div className="work" role="status">
      <span>
        {doing} {work.count} {counted}, <Elapsed since={work.startedAt} /> s
      </span>
      <button type="button" className="button" onClick={() => work.stop()}>
        Stop
      </button>
    </div>
  )
}

/** Shows that an answer takes a while, for work that tells no count. @param doing what Tally does */
export function Waiting({ doing, onStop }: { doing: string; onStop: () => void }) {
  const [startedAt] = useState(() => Math.floor(Date.now() / 1_000))
  return (
    <div className="work" role="status">
      <span>
        {doing} <Elapsed since={startedAt} /> s
      </span>
      <button type="button" className="button" onClick={onStop}>
        Stop
      </button>
    </div>
  )
}

function Elapsed({ since }: { since: number }) {
  return <>{Math.max(0, useSecond() - since)}</>
}
