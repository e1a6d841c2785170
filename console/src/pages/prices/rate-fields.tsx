import type { Schema } from '../../api/contract.ts'
import { visibleText } from '../../format/visible-text.ts'
import { Select } from '../../parts/choice.tsx'
import { Instant } from '../../parts/instant.tsx'
import { priceWords } from '../../parts/price-words.ts'
import type { Sources } from '../../parts/sources.ts'
import type { Catalogue } from './catalogue.ts'
import { AGGREGATIONS, FIXED, NO_RATE, pricesFor, type RateDraft, sourceOptions } from './rate-draft.ts'

const [RATES_MAX, FILTERS_MAX, PRICES_MAX] = [200, 20, 500]

interface RateFieldsProps {
  legend: string
  rates: readonly RateDraft[]
  onChange: (rates: RateDraft[]) => void
  /** The currency of the card. */
  currency: string
  catalogue: Catalogue
  sources: Sources
}

/** Rates as rows: which usage is measured how, and the price it feeds. */
export function RateFields({ legend, rates, onChange, ...known }: RateFieldsProps) {
  return (
    <fieldset className="rows">
      <legend className="field__label">{legend}</legend>
      {rates.map((rate, index) => (
        // A rate that is not made yet has no other identity than its place.
        <fieldset key={index} className="rows rows--inner">
          <legend className="field__hint">Rate {index + 1}</legend>
          <OneRate
            {...known}
            rate={rate}
            set={(changes) =>
              onChange(rates.map((other, at) => (at === index ? { ...other, ...changes } : other)))
            }
          />
          <button
            type="button"
            className="button button--small"
            onClick={() => onChange(rates.filter((_, at) => at !== index))}
          >
            Remove rate {index + 1}
          </button>
        </fieldset>
      ))}
      {rates.length < RATES_MAX && (
        <button type="button" className="button button--small" onClick={() => onChange([...rates, NO_RATE])}>
          Add a rate
        </button>
      )}
    </fieldset>
  )
}

/** When a rate starts and ends, if that is not with its change. */
export function RateTimes({ times: { starts_at: start, ends_at: end } }: Pick<RateDraft, 'times'>) {
  return (
    <>
      {start != null && (
        <>
          , from <Instant at={start} />
        </>
      )}
      {end != null && (
        <>
          , until <Instant at={end} />
        </>
      )}
    </>
  )
}

interface OneRateProps {
  rate: RateDraft
  set: (changes: Partial<RateDraft>) => void
  currency: string
  catalogue: Catalogue
  sources: Sources
}

function OneRate({ rate, set, currency, catalogue, sources }: OneRateProps) {
  const prices = pricesFor(catalogue.prices, currency, rate.source)
  const isUsage = rate.source !== FIXED && rate.source !== ''
  return (
    <>
      {(rate.times.starts_at ?? rate.times.ends_at) !== undefined && (
        <p className="soft">
          In force at times of its own
          <RateTimes times={rate.times} />. They stay as they are.
        </p>
      )}
      <Select
        label="Usage of"
        options={withChosen(sourceOptions(sources.list), rate.source, sources.find(rate.source).label)}
        value={rate.source}
        onChange={(source) => set({ source, priceId: '', prices: [] })}
      />
      {isUsage && (
        <>
          <Select
            label="Counted as"
            options={AGGREGATIONS.map((value) => ({ value, label: value }))}
            value={rate.aggregation}
            onChange={(aggregation) => set({ aggregation })}
          />
          <Filters rate={rate} set={set} />
          <Groups rate={rate} set={set} prices={prices} catalogue={catalogue} />
        </>
      )}
      {rate.source !== '' && (
        <PriceSelect
          label={rate.groupBy === '' ? 'Price' : 'Price of the rest'}
          prices={prices}
          catalogue={catalogue}
          value={rate.priceId}
          onChange={(priceId) => set({ priceId })}
        />
      )}
      {rate.source !== '' && prices.length === 0 && (
        <p className="soft">
          No {rate.source === FIXED ? 'flat price' : 'price for usage'} in{' '}
          {currency === '' ? 'the currency of the card' : currency}. Make one on the page of products.
        </p>
      )}
    </>
  )
}

function Filters({ rate: { filters }, set }: Pick<OneRateProps, 'rate' | 'set'>) {
  const change = (index: number, changes: Partial<(typeof filters)[number]>) =>
    set({ filters: filters.map((filter, at) => (at === index ? { ...filter, ...changes } : filter)) })
  return (
    <>
      {filters.map(({ property, value }, index) => (
        <div key={index} className="rows__row">
          <Input
            label={`Filter ${index + 1}, property`}
            value={property}
            onChange={(to) => change(index, { property: to })}
          />
          <Input
            label={`Filter ${index + 1}, value`}
            value={value}
            onChange={(to) => change(index, { value: to })}
          />
          <RemoveButton
            label={`Remove filter ${index + 1}`}
            onClick={() => set({ filters: filters.filter((_, at) => at !== index) })}
          />
        </div>
      ))}
      {filters.length < FILTERS_MAX && (
        <button
          type="button"
          className="button button--small"
          onClick={() => set({ filters: [...filters, { property: '', value: '' }] })}
        >
          Only events with a property
        </button>
      )}
    </>
  )
}

interface GroupsProps extends Pick<OneRateProps, 'rate' | 'set' | 'catalogue'> {
  prices: readonly Schema<'Price'>[]
}

function Groups({ rate: { groupBy, prices: ofValues }, set, prices, catalogue }: GroupsProps) {
  const change = (index: number, changes: Partial<(typeof ofValues)[number]>) =>
    set({ prices: ofValues.map((price, at) => (at === index ? { ...price, ...changes } : price)) })
  return (
    <>
      <Input
        label="A price for each value of the property"
        value={groupBy}
        onChange={(property) => set({ groupBy: property, ...(property === '' ? { prices: [] } : {}) })}
      />
      {groupBy !== '' &&
        ofValues.map(({ value, priceId }, index) => (
          <div key={index} className="rows__row">
            <Input
              label={`Value ${index + 1}`}
              value={value}
              onChange={(to) => change(index, { value: to })}
            />
            <PriceSelect
              label={`Price of value ${index + 1}`}
              prices={prices}
              catalogue={catalogue}
              value={priceId}
              onChange={(to) => change(index, { priceId: to })}
            />
            <RemoveButton
              label={`Remove value ${index + 1}`}
              onClick={() => set({ prices: ofValues.filter((_, at) => at !== index) })}
            />
          </div>
        ))}
      {groupBy !== '' && ofValues.length < PRICES_MAX && (
        <button
          type="button"
          className="button button--small"
          onClick={() => set({ prices: [...ofValues, { value: '', priceId: '' }] })}
        >
          Add a value
        </button>
      )}
    </>
  )
}

type Options = readonly { value: string; label: string }[]

/** What a change of an address has chosen is shown also where it is no choice: archived, or unknown. */
const withChosen = (options: Options, value: string, label: string): Options =>
  options.some((option) => option.value === value)
    ? options
    : [...options, { value, label: visibleText(label) }]

interface PriceSelectProps {
  label: string
  prices: readonly Schema<'Price'>[]
  catalogue: Catalogue
  value: string
  onChange: (priceId: string) => void
}

function PriceSelect({ label, prices, catalogue, value, onChange }: PriceSelectProps) {
  const known = catalogue.priceOf(value)
  const labelOf = (price: Schema<'Price'>) =>
    `${visibleText(catalogue.nameOf(price.product_id))}: ${priceWords(price)}`
  return (
    <Select
      label={label}
      options={withChosen(
        [
          { value: '', label: 'None' },
          ...prices.map((price) => ({ value: price.id, label: labelOf(price) })),
        ],
        value,
        known === undefined ? value : labelOf(known),
      )}
      value={value}
      onChange={onChange}
    />
  )
}

function Input({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  return (
    <label className="field rows__cell">
      <span className="field__hint">{label}</span>
      <input
        className="input"
        value={value}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  )
}

function RemoveButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <button type="button" className="button button--small" aria-label={label} onClick={onClick}>
      Remove
    </button>
  )
}
