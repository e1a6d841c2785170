import { CallError } from '../../api/call.ts'
import { type TierDraft, withTier } from './price-draft.ts'

const TIERS_MAX = 50

interface TierFieldsProps {
  tiers: readonly TierDraft[]
  onChange: (tiers: TierDraft[]) => void
  fault: string | undefined
  error: Error | null
}

/** The tiers of a price, as rows. The last one has no end. */
export function TierFields({ tiers, onChange, fault, error }: TierFieldsProps) {
  const said =
    fault ?? (error instanceof CallError && error.message.startsWith('tiers') ? error.message : undefined)
  const last = tiers.length - 1
  const set = (index: number, changes: Partial<TierDraft>) =>
    onChange(tiers.map((tier, at) => (at === index ? { ...tier, ...changes } : tier)))
  return (
    <fieldset className="rows">
      <legend className="field__label">Tiers</legend>
      {tiers.map((tier, index) => (
        // A tier has no other identity than its place.
        <div key={index} className="rows__row">
          <Cell
            label={`Tier ${index + 1}, up to`}
            value={index === last ? 'no end' : tier.upTo}
            isFixed={index === last}
            onChange={(upTo) => set(index, { upTo })}
          />
          <Cell
            label={`Tier ${index + 1}, amount of a unit`}
            value={tier.unitAmount}
            onChange={(unitAmount) => set(index, { unitAmount })}
          />
          <Cell
            label={`Tier ${index + 1}, step at its beginning`}
            value={tier.flatAmount}
            onChange={(flatAmount) => set(index, { flatAmount })}
          />
          {index < last && (
            <button
              type="button"
              className="button button--small"
              aria-label={`Remove tier ${index + 1}`}
              onClick={() => onChange(tiers.filter((_, at) => at !== index))}
            >
              Remove
            </button>
          )}
        </div>
      ))}
      {said !== undefined && (
        <p className="field__fault" role="alert">
          {said}
        </p>
      )}
      {tiers.length < TIERS_MAX && (
        <button type="button" className="button button--small" onClick={() => onChange(withTier(tiers))}>
          Add a tier
        </button>
      )}
    </fieldset>
  )
}

interface CellProps {
  label: string
  value: string
  isFixed?: boolean
  onChange: (value: string) => void
}

/** A field of a row. Its label is above it, without the name of the row. */
function Cell({ label, value, isFixed = false, onChange }: CellProps) {
  const [, words = label] = /, (.*)/.exec(label) ?? []
  return (
    <label className="field rows__cell">
      <span className="field__hint" aria-hidden="true">
        {words}
      </span>
      <input
        className="input"
        aria-label={label}
        value={value}
        readOnly={isFixed}
        autoComplete="off"
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  )
}
