import { type ReactNode, useId } from 'react'

interface StepProps {
  heading: string
  /** Whether what the step is about is there. */
  isDone?: boolean
  children: ReactNode
}

/** A step. It is ticked by what is there, so nothing is stored, and a reload loses nothing. */
export function Step({ heading, isDone = false, children }: StepProps) {
  const id = useId()
  return (
    <li className={isDone ? 'step step--done' : 'step'} aria-labelledby={id}>
      <h2 id={id} className="step__heading">
        {heading}
        {isDone && <span className="step__done"> done</span>}
      </h2>
      <div className="step__body">{children}</div>
    </li>
  )
}
