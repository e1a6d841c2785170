import type { Schema } from '../../api/contract.ts'
import { PRODUCT_CHANGES } from '../../api/queries/prices.ts'
import { COMMON_FIELDS, ResourceDialog, type TextField } from '../../parts/resource-dialog.tsx'

const FIELDS: readonly TextField<keyof Schema<'NewProduct'>>[] = [
  { ...COMMON_FIELDS.name, hint: 'What a line of an invoice is called.' },
  COMMON_FIELDS.externalId('products'),
  COMMON_FIELDS.description,
]

/** Makes a product. */
export const NewProductDialog = ({ onClose }: { onClose: () => void }) => (
  <ResourceDialog
    kind="product"
    path="/v2/products"
    fields={FIELDS}
    resource={undefined}
    changes={PRODUCT_CHANGES}
    onClose={onClose}
  />
)
