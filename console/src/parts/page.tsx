import './page.css'
import type { ReactNode } from 'react'
import { focusOnArrival } from '../app/arrivals.ts'
import { visibleText } from '../format/visible-text.ts'

interface PageHeadProps {
  heading: string
  /** The part of the thing that is shown, for the title. */
  part?: string | undefined
  /** The pages above this one. */
  crumbs?: ReactNode
  children?: ReactNode
}

/** The head of a page: its title in the browser too, its heading, and facts about what it shows. */
export function PageHead({ heading, part, crumbs, children }: PageHeadProps) {
  const shown = visibleText(heading)
  return (
    <header className="page-head">
      <title>{[...(part === undefined ? [] : [part]), shown, 'Tally'].join(' · ')}</title>
      {crumbs !== undefined && (
        <nav className="page-head__crumbs" aria-label="Pages above">
          {crumbs}
        </nav>
      )}
      <h1 className="page-head__heading" tabIndex={-1} ref={focusOnArrival}>
        <bdi>{shown}</bdi>
      </h1>
      {children !== undefined && <div className="page-head__facts">{children}</div>}
    </header>
  )
}

/** A fact in the head of a page, with its name. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="fact">
      <span className="fact__name">{name}</span> {children}
    </span>
  )
}

/** A word about the state of a thing. */
export function Chip({
  tone = 'plain',
  children,
}: {
  tone?: 'plain' | 'good' | 'warn' | 'bad'
  children: string
}) {
  return <span className={`chip chip--${tone}`}>{children}</span>
}
