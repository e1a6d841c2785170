import './search.css'
import { type KeyboardEvent, useState } from 'react'
import { visibleText } from '../format/visible-text.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { useSettled } from './effects.ts'
import { type Find, type Findings, useFindings } from './find.ts'
import { Link } from './link.tsx'

/** How long typing rests before Tally is asked. */
const SETTLE_MS = 150
const TEXT_MAX = 256

/**
 * Finds pages, accounts, customers and metrics by their names and ids. Arrow keys move from the field through what was
 * found, and Enter opens the first.
 */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('')
  /** The text whose first finding is to be opened. */
  const [wanted, setWanted] = useState('')
  const text = useSettled(typed.trim(), SETTLE_MS)
  const findings = useFindings(text)
  return (
    <Dialog heading="Search" onClose={onClose}>
      <div
        className="dialog__body search"
        onKeyDown={(event) => {
          if (event.key === 'Enter' && event.target instanceof HTMLInputElement) setWanted(typed.trim())
          moveFocus(event)
        }}
      >
        <input
          className="input search__field"
          type="search"
          aria-label="Search for"
          placeholder="An account, customer or metric by name or id, or a page"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          maxLength={TEXT_MAX}
          onChange={({ target }) => {
            setTyped(target.value)
            setWanted('')
          }}
        />
        <Found
          text={text}
          findings={findings}
          // Until all has been asked, what is found belongs to the text before.
          isFirstOpened={wanted !== '' && wanted === text && findings.isComplete}
          onFollow={onClose}
        />
      </div>
    </Dialog>
  )
}

interface FoundProps {
  text: string
  findings: Findings
  isFirstOpened: boolean
  onFollow: () => void
}

function Found({ text, findings, isFirstOpened, onFollow }: FoundProps) {
  const { finds, isComplete, error, again } = findings
  return (
    <>
      <ul
        className="search__found"
        aria-label="Found"
        aria-busy={!isComplete}
        ref={isFirstOpened ? openFirst : undefined}
      >
        {finds.map((find) => (
          <li key={`${find.kind} ${find.kind === 'page' ? find.route : find.id}`}>
            <FoundLink find={find} onFollow={onFollow} />
          </li>
        ))}
      </ul>
      <p className="search__none" role="status">
        {text !== '' && isComplete && finds.length === 0 && (
          <>
            Nothing found for “<bdi>{visibleText(text)}</bdi>”.
          </>
        )}
      </p>
      {error !== null && <Problem error={error} onAgain={again} />}
    </>
  )
}

function FoundLink({ find, onFollow }: { find: Find; onFollow: () => void }) {
  const children = (
    <>
      <bdi>{find.name}</bdi> <span className="search__kind">{find.kind}</span>
    </>
  )
  const props = { className: 'search__link', onFollow, children }
  switch (find.kind) {
    case 'account':
      return <Link to="account" parameters={{ accountId: find.id }} {...props} />
    case 'customer':
      return <Link to="customer" parameters={{ customerId: find.id }} {...props} />
    case 'metric':
      return <Link to="metric" parameters={{ metricId: find.id }} {...props} />
    case 'contract':
      return <Link to="contract" parameters={{ contractId: find.id }} {...props} />
    case 'event':
      return <Link to="event" parameters={{ eventId: find.id }} {...props} />
    case 'page':
      return <Link to={find.route} parameters={{}} {...props} />
  }
}

function openFirst(list: HTMLElement | null): void {
  list?.querySelector('a')?.click()
}

function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('input, a')]
  const at = stops.findIndex((stop) => stop === document.activeElement)
  const next = stops[at + (event.key === 'ArrowDown' ? 1 : -1)]
  event.preventDefault()
  next?.focus()
}
