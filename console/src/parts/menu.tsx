import './menu.css'
import { type ReactNode, useId } from 'react'

/** A button, and what opens below it. Escape and a click elsewhere close it: the browser does that. */
export function Menu({ label, title, children }: { label: ReactNode; title: string; children: ReactNode }) {
  const id = useId()
  return (
    <>
      <button type="button" className="button menu__button" popoverTarget={id} title={title}>
        {label}
        <span aria-hidden="true" className="menu__mark">
          ▾
        </span>
      </button>
      <div id={id} popover="auto" className="menu" role="group" aria-label={title}>
        {children}
      </div>
    </>
  )
}
