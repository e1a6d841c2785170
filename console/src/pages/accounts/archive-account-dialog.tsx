import type { Schema } from '../../api/contract.ts'
import { ACCOUNT_CHANGES } from '../../api/queries/accounts.ts'
import { useWrite } from '../../api/use-write.ts'
import { FormDialog } from '../../parts/form.tsx'
import { Name } from '../../parts/text.tsx'

/** Archives an account, or brings it back. */
export function ArchiveAccountDialog({
  account: { id, name, archived_at: archivedAt },
  onClose,
}: {
  account: Schema<'Account'>
  onClose: () => void
}) {
  const write = useWrite<Schema<'Account'>>(ACCOUNT_CHANGES, onClose)
  const isArchived = archivedAt !== null
  return (
    <FormDialog
      heading={isArchived ? 'Bring this account back' : 'Archive this account'}
      write={write}
      request={{ method: 'POST', target: `/v2/accounts/${id}/${isArchived ? 'unarchive' : 'archive'}` }}
      names={[]}
      submit={isArchived ? 'Bring it back' : 'Archive it'}
      isTouched={false}
      onClose={onClose}
    >
      <p>
        <Name>{name}</Name>{' '}
        {isArchived
          ? 'is in use again from now on.'
          : 'is no longer in use. Late usage still counts, and balances can be read. It can be brought back.'}
      </p>
    </FormDialog>
  )
}
