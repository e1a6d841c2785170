import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { DAY_S } from '../../format/time.ts'
import { Select } from '../../parts/choice.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { Name } from '../../parts/text.tsx'
import { type MadeKey, madeKey, ShownKey } from './shown-key.tsx'

const OVERLAPS = [
  { value: 'none', label: 'not at all', seconds: 0 },
  { value: 'hour', label: 'for an hour', seconds: 3_600 },
  { value: 'day', label: 'for a day', seconds: DAY_S },
  { value: 'week', label: 'for 7 days', seconds: 7 * DAY_S },
  { value: 'month', label: 'for 30 days', seconds: 30 * DAY_S },
] as const

interface RotateKeyDialogProps {
  apiKey: Schema<'ApiKey'>
  onClose: () => void
}

/** Replaces a key by a new one. The old one goes on for a while, so that nothing stops. */
export function RotateKeyDialog({ apiKey, onClose }: RotateKeyDialogProps) {
  const isInUse = useClient().caller.api_key.id === apiKey.id
  const [made, setMade] = useState<MadeKey>()
  if (made === undefined)
    return <RotateForm apiKey={apiKey} isInUse={isInUse} onMade={setMade} onClose={onClose} />
  return (
    <ShownKey
      made={made}
      note={
        isInUse
          ? 'This page still uses the old key. Sign in with the new one before the old one ends.'
          : undefined
      }
      onClose={onClose}
    />
  )
}

function RotateForm({
  apiKey: { id, name, last_characters: last },
  isInUse,
  onMade,
  onClose,
}: RotateKeyDialogProps & { isInUse: boolean; onMade: (made: MadeKey) => void }) {
  const [overlap, setOverlap] = useState<string>('day')
  const write = useWrite<Schema<'RotatedApiKey'>>(
    ['/v2/api-keys'],
    (outcome) => onMade(madeKey(outcome, name)),
    { isSecret: true },
  )
  // This page would sign out before the new key could be copied.
  const options = isInUse ? OVERLAPS.filter(({ seconds }) => seconds > 0) : OVERLAPS
  const seconds = OVERLAPS.find(({ value }) => value === overlap)?.seconds ?? DAY_S
  const body: Schema<'ApiKeyRotation'> = { overlap_seconds: seconds }
  return (
    <FormDialog
      heading="Rotate this key"
      write={write}
      request={{ method: 'POST', target: `/v2/api-keys/${id}/rotate`, body }}
      names={[]}
      submit="Rotate this key"
      isTouched={false}
      onClose={onClose}
    >
      <p>
        A new key replaces “<Name>{name}</Name>” (…{last}). It has the same name, permissions and end. Put it
        where the old one is used, before the old one ends.
      </p>
      <Select label="The old key goes on" options={options} value={overlap} onChange={setOverlap} />
    </FormDialog>
  )
}
