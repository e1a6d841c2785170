import type { Customer } from '../../../shared/domain/customer.ts'
import { present, secondsOf } from '../core/body-fields.ts'

export const customerToBody = (customer: Customer) => ({
  id: customer.id,
  name: customer.name,
  ...present({
    external_id: customer.externalId,
    payments_customer_id: customer.paymentsCustomerId,
    accounting_customer_id: customer.accountingCustomerId,
  }),
  created_at: secondsOf(customer.createdAt),
  updated_at: secondsOf(customer.updatedAt),
})
