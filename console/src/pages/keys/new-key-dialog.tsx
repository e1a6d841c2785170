import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Permission, Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { parseInstant } from '../../format/time.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { Permissions } from './permissions.tsx'
import { type MadeKey, madeKey, ShownKey } from './shown-key.tsx'

const NAME_MAX = 256

/** Makes a key, and shows it once. */
export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<MadeKey>()
  if (made !== undefined) return <ShownKey made={made} note={undefined} onClose={onClose} />
  return <NewKeyForm onMade={setMade} onClose={onClose} />
}

function NewKeyForm({ onMade, onClose }: { onMade: (made: MadeKey) => void; onClose: () => void }) {
  const client = useClient()
  const [name, setName] = useState('')
  const [ends, setEnds] = useState('')
  const [permissions, setPermissions] = useState<readonly Permission[]>(
    client.may('read:all') ? ['read:all'] : [],
  )
  const write = useWrite<Schema<'IssuedApiKey'>>(
    ['/v2/api-keys'],
    (outcome) => onMade(madeKey(outcome, name.trim())),
    { isSecret: true },
  )
  const expiresAt = ends.trim() === '' ? undefined : parseInstant(ends)
  const isWrong = ends.trim() !== '' && expiresAt === undefined
  const body: Schema<'NewApiKey'> = {
    name: name.trim(),
    permissions: [...permissions],
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  }
  const isReady = body.name !== '' && permissions.length > 0 && !isWrong
  return (
    <FormDialog
      heading="New key"
      write={write}
      request={isReady ? { method: 'POST', target: '/v2/api-keys', body } : undefined}
      names={['name', 'expires_at']}
      submit="Make the key"
      isTouched={name !== '' || ends !== ''}
      onClose={onClose}
    >
      <Field
        label="Name"
        name="name"
        value={name}
        onChange={setName}
        error={write.error}
        hint="What it is for, so that you know it in the list."
        isRequired
        maxLength={NAME_MAX}
      />
      <Permissions chosen={permissions} onChange={setPermissions} />
      <Field
        label="Works until"
        name="expires_at"
        value={ends}
        onChange={setEnds}
        error={write.error}
        fault={isWrong ? 'Write it as 2026-12-31 or 2026-12-31 18:00, in UTC.' : undefined}
        hint="A day or an instant in UTC. Without it the key has no end."
      />
    </FormDialog>
  )
}
