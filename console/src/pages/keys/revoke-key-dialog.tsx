import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { signOut } from '../../app/keys.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Name } from '../../parts/text.tsx'

type ApiKey = Schema<'ApiKey'>

interface RevokeKeyDialogProps {
  apiKey: ApiKey
  /** All keys of the company. */
  others: readonly ApiKey[]
  onClose: () => void
}

const WORD = 'revoke'

/** Asks before a key ends for good, and says who loses access. */
export function RevokeKeyDialog({ apiKey, others, onClose }: RevokeKeyDialogProps) {
  const isInUse = useClient().caller.api_key.id === apiKey.id
  const [word, setWord] = useState('')
  const write = useWrite<ApiKey>(['/v2/api-keys'], () => {
    onClose()
    if (isInUse) signOut(apiKey.id)
  })
  const target = `/v2/api-keys/${apiKey.id}/revoke`
  return (
    <FormDialog
      heading="Revoke this key"
      write={write}
      request={word.trim() === WORD ? { method: 'POST', target } : undefined}
      names={[]}
      submit="Revoke this key"
      isDangerous
      isTouched={false}
      onClose={onClose}
    >
      <WhoLosesAccess apiKey={apiKey} />
      {isInUse && (
        <p>
          <strong>This page uses this key.</strong> You will be signed out, here and in all other tabs.
        </p>
      )}
      {isLastManager(apiKey, others) && (
        <p>
          No other key may manage keys. Afterwards only an operator can make one:{' '}
          <code>npm run keys -- issue</code>
        </p>
      )}
      <Field label={`Type ${WORD} to go on`} name="word" value={word} onChange={setWord} isRequired />
    </FormDialog>
  )
}

function WhoLosesAccess({
  apiKey: { name, last_characters: last, last_used_at: usedAt },
}: {
  apiKey: ApiKey
}) {
  return (
    <p>
      Every program and person with “<Name>{name}</Name>” (…{last}) loses access within five seconds, for
      good.{' '}
      {usedAt === null ? (
        'It was never used.'
      ) : (
        <>
          It was last used at <Instant at={usedAt} />.
        </>
      )}{' '}
      Keys that it made go on.
    </p>
  )
}

const isLastManager = (apiKey: ApiKey, others: readonly ApiKey[]): boolean =>
  manages(apiKey) && !others.some((other) => other.id !== apiKey.id && manages(other))

const manages = ({ status, permissions }: ApiKey): boolean =>
  status === 'active' && permissions.includes('manage:keys')
