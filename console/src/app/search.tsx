import './search.css'
import { type KeyboardEvent, useState } from 'react'
import { CallError } from '../api/call.ts'
import { useClient } from '../api/client.ts'
import type { Schema } from '../api/contract.ts'
import { accountByExternalIdReading, accountListing, accountReading } from '../api/queries/accounts.ts'
import { type Read, useRead, useReadList } from '../api/use-read.ts'
import { visibleText } from '../format/visible-text.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { useSettled } from './effects.ts'
import { Link } from './link.tsx'
import { menuOf } from './menu.ts'

/** How long typing rests before Tally is asked. */
const SETTLE_MS = 150
const ID = /^account_[0-9a-f]{32}$/
const EXTERNAL_ID_MAX = 256

/** Finds pages by their names, and accounts by their ids. Arrow keys move from the field through what was found. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const text = useSettled(typed.trim(), SETTLE_MS)
  const client = useClient()
  const account = useAccount(text)
  const named = useReadList(accountListing(client, { query: text }), {
    isEnabled: text !== '' && client.may('read:all'),
    keepsEarlier: true,
  })
  return (
    <Dialog heading="Search" onClose={onClose}>
      <div className="dialog__body search" onKeyDown={moveFocus}>
        <input
          className="input search__field"
          type="search"
          aria-label="Search for"
          placeholder="An account by name, id or customer, or a page"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          maxLength={EXTERNAL_ID_MAX}
          onChange={({ target }) => setTyped(target.value)}
        />
        <Found text={text} account={account} named={named} onFollow={onClose} />
      </div>
    </Dialog>
  )
}

/** An account whose id or external id this text is. */
function useAccount(text: string): Read<Schema<'Account'>> {
  const client = useClient()
  const reading = ID.test(text) ? accountReading(client, text) : accountByExternalIdReading(client, text)
  return useRead(reading, { isEnabled: text !== '' && client.may('read:all') })
}

const NOT_FOUND = 404
/** So many accounts are shown. The page of accounts has all. */
const SHOWN_MAX = 8

interface FoundProps {
  text: string
  /** The account that has this very id. */
  account: Read<Schema<'Account'>>
  /** The accounts that have the text in a name or an external id. */
  named: Read<readonly Schema<'Account'>[]>
  onFollow: () => void
}

function Found({ text, account, named, onFollow }: FoundProps) {
  const client = useClient()
  const pages = menuOf(client).filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
  const isMissing = account.error instanceof CallError && account.error.status === NOT_FOUND
  const exact = text === '' || account.data === undefined ? [] : [account.data]
  const others = text === '' ? [] : (named.data ?? []).filter(({ id }) => id !== exact[0]?.id)
  const accounts = [...exact, ...others].slice(0, SHOWN_MAX)
  const isRead = isMissing && named.data !== undefined && !named.isEarlier
  return (
    <>
      <ul className="search__found" aria-label="Found">
        {accounts.map(({ id, name }) => (
          <li key={id}>
            <Link to="account" parameters={{ accountId: id }} className="search__link" onFollow={onFollow}>
              <bdi>{visibleText(name)}</bdi> <span className="search__kind">account</span>
            </Link>
          </li>
        ))}
        {pages.map(({ route, label }) => (
          <li key={route}>
            <Link to={route} parameters={{}} className="search__link" onFollow={onFollow}>
              {label} <span className="search__kind">page</span>
            </Link>
          </li>
        ))}
      </ul>
      <p className="search__none" role="status">
        {isRead && accounts.length + pages.length === 0 && (
          <>
            Nothing found for “<bdi>{visibleText(text)}</bdi>”.
          </>
        )}
      </p>
      {named.error !== null && <Problem error={named.error} onAgain={named.again} />}
    </>
  )
}

function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('input, a')]
  const at = stops.findIndex((stop) => stop === document.activeElement)
  const next = stops[at + (event.key === 'ArrowDown' ? 1 : -1)]
  event.preventDefault()
  next?.focus()
}
