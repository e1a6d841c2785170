import type { Schema } from '../../api/contract.ts'
import { CUSTOMER_CHANGES } from '../../api/queries/customers.ts'
import { pathOf } from '../../app/routes.ts'
import { COMMON_FIELDS, ResourceDialog, type TextField } from '../../parts/resource-dialog.tsx'

const FIELDS: readonly TextField<keyof Schema<'NewCustomer'>>[] = [
  COMMON_FIELDS.name,
  COMMON_FIELDS.externalId('customers'),
  {
    name: 'payments_customer_id',
    label: 'Id at your payment provider',
    hint: 'Tally keeps it for you, and does nothing with it.',
    isMono: true,
  },
  {
    name: 'accounting_customer_id',
    label: 'Id in your accounting system',
    hint: 'A UUID. Tally keeps it for you, and does nothing with it.',
    isMono: true,
  },
]

/** Makes a customer and goes to its page, or changes one. @param customer undefined makes one */
export const CustomerDialog = ({
  customer,
  onClose,
}: {
  customer: Schema<'Customer'> | undefined
  onClose: () => void
}) => (
  <ResourceDialog
    kind="customer"
    path="/v2/customers"
    fields={FIELDS}
    resource={customer}
    changes={CUSTOMER_CHANGES}
    pageOf={(customerId) => pathOf('customer', { customerId })}
    onClose={onClose}
  />
)
