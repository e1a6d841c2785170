import './notice.css'
import type { ReactNode } from 'react'
import { CallError } from '../api/call.ts'
import { visibleText } from '../format/visible-text.ts'

interface ProblemProps {
  error: Error
  onAgain?: () => void
  /** What could not be read, where it does not follow from the place. */
  about?: string
}

/** What went wrong with a request, in the words of the server. */
export function Problem({ error, onAgain, about }: ProblemProps) {
  return (
    <div className="notice notice--bad" role="alert">
      <p className="notice__text">
        {about !== undefined && `${about}: `}
        {wordsOf(error)}
      </p>
      {onAgain !== undefined && (
        <button type="button" className="button" onClick={onAgain}>
          Try again
        </button>
      )}
    </div>
  )
}

const TIMED_OUT = 408

export function wordsOf(error: Error): ReactNode {
  if (!(error instanceof CallError)) return `Something in this page failed: ${error.message}`
  const text = <bdi>{visibleText(error.message)}</bdi>
  if (error.status === 0) return <>{text}. Is it running?</>
  if (error.status === TIMED_OUT)
    return <>It took longer than Tally allows ({text}). A shorter range is quicker.</>
  return (
    <>
      {text} <span className="notice__status">({error.status})</span>
    </>
  )
}

/** Something that is good to know. */
export function Notice({
  tone = 'plain',
  children,
}: {
  tone?: 'plain' | 'warn' | 'bad'
  children: ReactNode
}) {
  return <div className={`notice notice--${tone}`}>{children}</div>
}

/** Says why there is nothing here, and what to do about it. */
export function Empty({ children }: { children: ReactNode }) {
  return <div className="empty">{children}</div>
}
