import { useState } from 'react'
import { useClient } from '../api/client.ts'
import { accountListing, accountReading } from '../api/queries/accounts.ts'
import { useRead, useReadList } from '../api/use-read.ts'
import { useSettled } from '../app/effects.ts'
import { visibleText } from '../format/visible-text.ts'
import { Select } from './choice.tsx'
import { Field } from './form.tsx'

/** How long typing rests before Tally is asked. */
const SETTLE_MS = 150
const QUERY_MAX = 256

interface AccountPickerProps {
  accountId: string
  onChoose: (accountId: string) => void
  error: Error | null
}

/** Chooses one of many accounts: a text narrows the list. */
export function AccountPicker({ accountId, onChoose, error }: AccountPickerProps) {
  const client = useClient()
  const [typed, setTyped] = useState('')
  const text = useSettled(typed.trim(), SETTLE_MS)
  const found = useReadList(
    accountListing(client, { is_archived: false, ...(text === '' ? {} : { query: text }) }),
    { keepsEarlier: true },
  )
  const chosen = useRead(accountReading(client, accountId), { isEnabled: accountId !== '' }).data
  const rows = found.data ?? []
  const isListed = chosen === undefined || rows.some(({ id }) => id === chosen.id)
  return (
    <>
      <Field
        label="Find the account"
        name="account_id"
        value={typed}
        onChange={setTyped}
        error={error}
        hint="By a part of its name, its external id or its customer."
        maxLength={QUERY_MAX}
      />
      <Select
        label="Account"
        options={[
          { value: '', label: 'choose …' },
          ...(isListed ? rows : [chosen, ...rows]).map(({ id, name }) => ({
            value: id,
            label: visibleText(name),
          })),
        ]}
        value={accountId}
        onChange={onChoose}
      />
      <p className="soft" role="status">
        {found.data !== undefined &&
          !found.isEarlier &&
          rows.length === 0 &&
          (text === '' ? 'There is no account yet.' : 'No account has this text.')}
        {found.hasMore && 'There are more accounts: type more of the name.'}
      </p>
    </>
  )
}
