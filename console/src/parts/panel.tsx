import './panel.css'
import { type ReactNode, useId } from 'react'
import { useClient } from '../api/client.ts'
import type { Read } from '../api/use-read.ts'
import { useSecond } from '../app/effects.ts'
import { curlOf } from '../format/curl.ts'
import { agoText } from '../format/time.ts'
import { Boundary } from './boundary.tsx'
import { CopyButton } from './id.tsx'
import { Problem } from './problem.tsx'

interface PanelProps<T> {
  heading: string
  read: Read<T>
  /** What stands beside the heading, such as buttons and choices. */
  tools?: ReactNode
  children: (data: T) => ReactNode
}

/**
 * A part of a page that shows the answer to one request. It says how old the answer is, can tell the request, and an
 * error of it or of its contents stays within the panel.
 */
export function Panel<T>({ heading, read, tools, children }: PanelProps<T>) {
  const id = useId()
  const { data, error, isFetching, isEarlier, again } = read
  // What an earlier question did not find, is not said of this one.
  const shown = isEarlier && Array.isArray(data) && data.length === 0 ? undefined : data
  return (
    <section className="panel" aria-labelledby={id} aria-busy={isFetching}>
      <header className="panel__head">
        <h2 id={id} className="panel__heading">
          {heading}
        </h2>
        <div className="panel__tools">{tools}</div>
      </header>
      <Boundary key={shown === undefined ? 'none' : 'some'}>
        {error !== null && <Problem error={error} onAgain={again} />}
        {shown !== undefined && (
          <div className={isEarlier ? 'panel__body panel__body--earlier' : 'panel__body'}>
            {isEarlier && <Earlier />}
            <div className="panel__answer">{children(shown)}</div>
          </div>
        )}
        {shown === undefined && error === null && <Skeleton />}
      </Boundary>
      <footer className="panel__foot">
        <Freshness read={read} />
        <AsCurl read={read} />
      </footer>
    </section>
  )
}

/** Stands over the answer to an earlier question. The styles show it after a moment only. */
function Earlier() {
  return (
    <p className="panel__earlier" role="status">
      <span className="panel__earlier-text">Reading… Below is still the answer from before.</span>
    </p>
  )
}

function Freshness({ read: { updatedAt, isEarlier } }: { read: Read<unknown> }) {
  const second = useSecond()
  if (updatedAt === 0 || isEarlier) return <span className="panel__fresh">…</span>
  return (
    <span className="panel__fresh">as of {agoText(Math.max(0, second - Math.floor(updatedAt / 1_000)))}</span>
  )
}

function AsCurl({ read: { request } }: { read: Read<unknown> }) {
  const { origin } = useClient()
  return (
    <CopyButton text={curlOf(origin, request)} label="Copy the request behind this as a curl command">
      as curl
    </CopyButton>
  )
}

/** Stands for what is being read. The styles show it after a moment only. */
export function Skeleton() {
  return (
    <div className="skeleton" role="status">
      <span className="hidden">Reading…</span>
      <div className="skeleton__line" />
      <div className="skeleton__line" />
      <div className="skeleton__line" />
    </div>
  )
}
