import type { Schema } from '../../api/contract.ts'
import { visibleText } from '../../format/visible-text.ts'
import { Select } from '../../parts/choice.tsx'
import { Field } from '../../parts/form.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { type Kind, numberFault, type TypedLine } from './new-line.ts'

/** What lines are made of. */
export interface Catalogue {
  cards: readonly Schema<'RateCardInList'>[]
  prices: readonly Schema<'Price'>[]
  productName: (id: string) => string
  metrics: readonly { id: string; label: string }[]
}

const KINDS = [
  { value: 'card', label: 'Follows a rate card' },
  { value: 'price', label: 'Charges a price' },
  { value: 'minimum', label: 'Sets a minimum' },
  { value: 'credit', label: 'Gives credit' },
]

const isKind = (text: string): text is Kind => KINDS.some(({ value }) => value === text)

interface LineFieldsProps {
  number: number
  line: TypedLine
  currency: string
  catalogue: Catalogue
  onChange: (line: TypedLine) => void
  onRemove: () => void
}

/** The fields of one line of a contract. */
export function LineFields({ number, line, currency, catalogue, onChange, onRemove }: LineFieldsProps) {
  const set = (changes: Partial<TypedLine>) => onChange({ ...line, ...changes })
  return (
    <fieldset className="form new-line">
      <legend>Line {number}</legend>
      <Select
        label="What it is"
        options={KINDS}
        value={line.kind}
        onChange={(kind) => isKind(kind) && set({ kind })}
      />
      {line.kind === 'card' && <CardFields line={line} catalogue={catalogue} currency={currency} set={set} />}
      {line.kind === 'price' && (
        <PriceFields line={line} catalogue={catalogue} currency={currency} set={set} />
      )}
      {line.kind === 'minimum' && (
        <NumberField
          label={`The smallest total of a period${currency === '' ? '' : `, ${currency}`}`}
          name="minimum_amount"
          value={line.amount}
          onChange={(amount) => set({ amount })}
          isRequired
        />
      )}
      {line.kind === 'credit' && (
        <CreditFields line={line} catalogue={catalogue} currency={currency} set={set} />
      )}
      <p>
        <button type="button" className="button button--small" onClick={onRemove}>
          Remove line {number}
        </button>
      </p>
    </fieldset>
  )
}

interface KindProps {
  line: TypedLine
  catalogue: Catalogue
  currency: string
  set: (changes: Partial<TypedLine>) => void
}

const CHOOSE = { value: '', label: 'choose …' }

function CardFields({ line, catalogue, currency, set }: KindProps) {
  const cards = catalogue.cards.filter((card) => card.archived_at === null && card.currency === currency)
  return (
    <>
      <Select
        label="Rate card"
        options={[CHOOSE, ...cards.map(({ id, name }) => ({ value: id, label: visibleText(name) }))]}
        value={line.cardId}
        onChange={(cardId) => set({ cardId })}
      />
      {cards.length === 0 && <None what="rate card" currency={currency} />}
      <Discount line={line} set={set} />
    </>
  )
}

function PriceFields({ line, catalogue, currency, set }: KindProps) {
  const prices = catalogue.prices.filter(
    (price) => price.archived_at === null && price.currency === currency && price.model !== 'percentage',
  )
  const chosen = prices.find(({ id }) => id === line.priceId)
  const labelOf = (price: Schema<'Price'>) =>
    `${visibleText(catalogue.productName(price.product_id))}: ${priceWords(price)}`
  return (
    <>
      <Select
        label="Price"
        options={[CHOOSE, ...prices.map((price) => ({ value: price.id, label: labelOf(price) }))]}
        value={line.priceId}
        onChange={(priceId) => set({ priceId, quantity: '' })}
      />
      {prices.length === 0 && <None what="price" currency={currency} />}
      {chosen?.model !== 'flat' && (
        <NumberField
          label="Quantity"
          name="quantity"
          value={line.quantity}
          onChange={(quantity) => set({ quantity })}
          hint="As agreed, such as 10 seats. Empty: 1."
        />
      )}
      <Discount line={line} set={set} />
    </>
  )
}

function CreditFields({ line, catalogue, currency, set }: KindProps) {
  const isMoney = line.sourceId === ''
  return (
    <>
      <NumberField
        label="Credit of each period"
        name="amount"
        value={line.amount}
        onChange={(amount) => set({ amount })}
        isRequired
      />
      <Select
        label="In"
        options={[
          { value: '', label: currency === '' ? 'the currency of the contract' : currency },
          ...catalogue.metrics.map(({ id, label }) => ({ value: id, label })),
        ]}
        value={line.sourceId}
        onChange={(sourceId) => set({ sourceId })}
      />
      {isMoney && (
        <Select
          label="It expires"
          options={[
            { value: 'never', label: 'never' },
            { value: 'period_end', label: 'at the end of its period' },
          ]}
          value={line.expires}
          onChange={(expires) => set({ expires: expires === 'never' ? 'never' : 'period_end' })}
        />
      )}
    </>
  )
}

function Discount({ line, set }: Pick<KindProps, 'line' | 'set'>) {
  return (
    <NumberField
      label="Discount in percent"
      name="discount_percent"
      value={line.discount}
      onChange={(discount) => set({ discount })}
    />
  )
}

interface NumberFieldProps {
  label: string
  name: string
  value: string
  onChange: (value: string) => void
  hint?: string
  isRequired?: boolean
}

function NumberField(props: NumberFieldProps) {
  return <Field {...props} fault={numberFault(props.value)} />
}

function None({ what, currency }: { what: string; currency: string }) {
  return (
    <p className="soft">
      {currency === ''
        ? 'Type the currency first.'
        : `There is no ${what} in ${currency} that is not archived.`}
    </p>
  )
}
