import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { PRICE_CHANGES } from '../../api/queries/prices.ts'
import { useWrite } from '../../api/use-write.ts'
import { visibleText } from '../../format/visible-text.ts'
import { Choice, Select } from '../../parts/choice.tsx'
import { Field, FormDialog } from '../../parts/form.tsx'
import {
  type Faults,
  faultsOf,
  isTiered,
  type Model,
  newPriceOf,
  NO_PRICE,
  type PriceDraft,
} from './price-draft.ts'
import { PriceView } from './price-view.tsx'
import { termsOf } from './terms.ts'
import { TierFields } from './tier-fields.tsx'

const NAMES = [
  ...['currency', 'amount', 'unit_amount', 'percent', 'package_size', 'package_amount', 'per', 'tiers'],
  ...['included_quantity', 'minimum_amount', 'maximum_amount', 'description'],
]
const DESCRIPTION_MAX = 2_048

const MODELS: readonly { value: Model; label: string }[] = [
  { value: 'per_unit', label: 'Per unit: so much for each' },
  { value: 'flat', label: 'Flat: an amount without usage' },
  { value: 'graduated', label: 'Graduated: each tier prices its part' },
  { value: 'volume', label: 'Volume: one tier prices all' },
  { value: 'package', label: 'Package: whole packages' },
  { value: 'percentage', label: 'Percentage of the usage' },
]

type SetDraft = (changes: Partial<PriceDraft>) => void

/** Makes a price of a product. It is drawn while it is typed. */
export function NewPriceDialog({ product, onClose }: { product: Schema<'Product'>; onClose: () => void }) {
  const [draft, setDraft] = useState(NO_PRICE)
  const write = useWrite<Schema<'Price'>>(PRICE_CHANGES, onClose)
  const set: SetDraft = (changes) => setDraft({ ...draft, ...changes })
  const body = newPriceOf(draft, product.id)
  const fields = { draft, set, faults: faultsOf(draft), error: write.error }
  return (
    <FormDialog
      heading={`New price of ${visibleText(product.name)}`}
      write={write}
      request={body === undefined ? undefined : { method: 'POST', target: '/v2/prices', body }}
      names={NAMES}
      submit="Make the price"
      isTouched={draft !== NO_PRICE}
      onClose={onClose}
    >
      <p>A price never changes. To charge another one, make it, and change the rate card.</p>
      <Select
        label="Model"
        options={MODELS}
        value={draft.model}
        onChange={(value) =>
          set({ model: MODELS.find((model) => model.value === value)?.value ?? 'per_unit' })
        }
      />
      <Field
        label="Currency"
        name="currency"
        value={draft.currency}
        onChange={(currency) => set({ currency })}
        error={write.error}
        hint="Its code of three letters, such as usd."
        isRequired
        maxLength={3}
      />
      <ModelFields {...fields} />
      {body === undefined ? (
        <p className="soft">The price is drawn here once it is complete.</p>
      ) : (
        <div className="drawn">
          <PriceView terms={termsOf(body)} currency={body.currency} />
        </div>
      )}
      <details className="form__request">
        <summary>{draft.model === 'flat' ? 'Description' : 'Included quantity, bounds, description'}</summary>
        <div className="form">
          {draft.model !== 'flat' && <BoundFields {...fields} />}
          <Field
            label="Description"
            name="description"
            value={draft.description}
            onChange={(description) => set({ description })}
            error={write.error}
            maxLength={DESCRIPTION_MAX}
          />
        </div>
      </details>
    </FormDialog>
  )
}

interface FieldsProps {
  draft: PriceDraft
  set: SetDraft
  faults: Faults
  error: Error | null
}

/** The name and the label of a price's amount. */
const AMOUNTS: Partial<Record<Model, { name: string; label: string }>> = {
  flat: { name: 'amount', label: 'Amount' },
  per_unit: { name: 'unit_amount', label: 'Amount' },
  package: { name: 'package_amount', label: 'Amount of a package' },
  percentage: { name: 'percent', label: 'Percent' },
}

function ModelFields({ draft, set, faults, error }: FieldsProps) {
  const amount = AMOUNTS[draft.model]
  return (
    <>
      {amount !== undefined && (
        <Field
          {...amount}
          value={draft.amount}
          onChange={(value) => set({ amount: value })}
          fault={faults.amount}
          error={error}
          isRequired
        />
      )}
      {draft.model === 'flat' && (
        <Choice
          label="When it is due"
          options={DUE}
          value={draft.isRecurring ? 'each' : 'once'}
          onChange={(value) => set({ isRecurring: value === 'each' })}
        />
      )}
      {draft.model === 'package' && (
        <Field
          label="Units of a package"
          name="package_size"
          value={draft.packageSize}
          onChange={(packageSize) => set({ packageSize })}
          fault={faults.packageSize}
          error={error}
          hint="A package that is not full costs the whole amount."
          isRequired
        />
      )}
      {isTiered(draft) && (
        <TierFields
          tiers={draft.tiers}
          onChange={(tiers) => set({ tiers })}
          fault={faults.tiers}
          error={error}
        />
      )}
      {(draft.model === 'per_unit' || isTiered(draft)) && (
        <Field
          label="For so many units"
          name="per"
          value={draft.per}
          onChange={(per) => set({ per })}
          fault={faults.per}
          error={error}
          hint="Empty: for one. As 1000000 for an amount per million."
        />
      )}
    </>
  )
}

const DUE = [
  { value: 'each', label: 'Each period' },
  { value: 'once', label: 'Once' },
] as const

function BoundFields({ draft, set, faults, error }: FieldsProps) {
  return (
    <>
      <Field
        label="Included quantity"
        name="included_quantity"
        value={draft.included}
        onChange={(included) => set({ included })}
        fault={faults.included}
        error={error}
        hint="So many are free in each period."
      />
      <Field
        label="At least"
        name="minimum_amount"
        value={draft.minimum}
        onChange={(minimum) => set({ minimum })}
        fault={faults.minimum}
        error={error}
        hint="Due in each period, also without usage."
      />
      <Field
        label="At most"
        name="maximum_amount"
        value={draft.maximum}
        onChange={(maximum) => set({ maximum })}
        fault={faults.maximum}
        error={error}
      />
    </>
  )
}
