import type { Customer } from '../../../shared/domain/customer.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf } from '../core/body-fields.ts'

export const customerToBody = (customer: Customer): SchemaOf<'Customer'> => ({
  id: customer.id,
  name: customer.name,
  ...present<SchemaOf<'Customer'>>({
    external_id: customer.externalId,
    payments_customer_id: customer.paymentsCustomerId,
    accounting_customer_id: customer.accountingCustomerId,
  }),
  created_at: secondsOf(customer.createdAt),
  updated_at: secondsOf(customer.updatedAt),
})
