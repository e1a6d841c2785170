import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { DAY_S } from '../../format/time.ts'
import { AccountPicker } from '../../parts/account-picker.tsx'
import { Select } from '../../parts/choice.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { type MadeKey, madeKey, ShownKey } from './shown-key.tsx'

const DAYS = [
  { value: 'day', label: 'for a day', seconds: DAY_S },
  { value: 'week', label: 'for 7 days', seconds: 7 * DAY_S },
  { value: 'month', label: 'for 30 days', seconds: 30 * DAY_S },
]
const NAME = 'from the console'

interface NewAccountKeyDialogProps {
  /** The account that the page shows; empty if it shows none. */
  chosen: string
  onMade: (accountId: string) => void
  onClose: () => void
}

/** Makes a key of one account, and shows it once. */
export function NewAccountKeyDialog({ chosen, onMade, onClose }: NewAccountKeyDialogProps) {
  const [made, setMade] = useState<MadeKey>()
  if (made !== undefined) return <ShownKey made={made} note={undefined} onClose={onClose} />
  return (
    <NewAccountKeyForm
      chosen={chosen}
      onMade={(key, accountId) => {
        setMade(key)
        onMade(accountId)
      }}
      onClose={onClose}
    />
  )
}

function NewAccountKeyForm({
  chosen,
  onMade,
  onClose,
}: {
  chosen: string
  onMade: (made: MadeKey, accountId: string) => void
  onClose: () => void
}) {
  const [accountId, setAccountId] = useState(chosen)
  const [days, setDays] = useState('day')
  // Every attempt of this form asks for the same end, so that a repeat is the same request.
  const [openedAt] = useState(() => Math.floor(Date.now() / 1_000))
  const write = useWrite<Schema<'IssuedApiKey'>>(
    ['/v2/api-keys'],
    (outcome) => onMade(madeKey(outcome, NAME), accountId),
    { isSecret: true },
  )
  const seconds = DAYS.find(({ value }) => value === days)?.seconds ?? DAY_S
  const body: Schema<'NewApiKey'> = {
    name: NAME,
    account_id: accountId,
    permissions: ['read:account'],
    expires_at: openedAt + seconds,
  }
  return (
    <FormDialog
      heading="New account key"
      write={write}
      request={accountId === '' ? undefined : { method: 'POST', target: '/v2/api-keys', body }}
      names={['account_id']}
      submit="Make the key"
      isTouched={accountId !== chosen}
      onClose={onClose}
    >
      <AccountPicker accountId={accountId} onChoose={setAccountId} error={write.error} />
      <Select label="It works" options={DAYS} value={days} onChange={setDays} />
    </FormDialog>
  )
}
