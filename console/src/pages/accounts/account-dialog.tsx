import type { Schema } from '../../api/contract.ts'
import { ACCOUNT_CHANGES } from '../../api/queries/accounts.ts'
import { pathOf } from '../../app/routes.ts'
import { COMMON_FIELDS, ResourceDialog, type TextField } from '../../parts/resource-dialog.tsx'

const FIELDS: readonly TextField<keyof Schema<'NewAccount'>>[] = [
  COMMON_FIELDS.name,
  COMMON_FIELDS.externalId('accounts'),
  {
    name: 'service_customer_id',
    label: 'Customer',
    hint: 'The id of the customer it belongs to.',
    isMono: true,
  },
  COMMON_FIELDS.description,
]

/** Makes an account and goes to its page, or changes one. @param account undefined makes one */
export const AccountDialog = ({
  account,
  onClose,
}: {
  account: Schema<'Account'> | undefined
  onClose: () => void
}) => (
  <ResourceDialog
    kind="account"
    path="/v2/accounts"
    fields={FIELDS}
    resource={account}
    changes={ACCOUNT_CHANGES}
    pageOf={(accountId) => pathOf('account', { accountId })}
    onClose={onClose}
  />
)
