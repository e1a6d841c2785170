import './choice.css'
import { useId } from 'react'

interface ChoiceProps<Value extends string> {
  label: string
  options: readonly { value: Value; label: string }[]
  value: Value | undefined
  onChange: (value: Value) => void
}

/** A choice of a few values that all are seen. */
export function Choice<Value extends string>({ label, options, value, onChange }: ChoiceProps<Value>) {
  const name = useId()
  return (
    <fieldset className="choice">
      <legend className="hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="choice__option">
          <input
            type="radio"
            name={name}
            className="choice__radio"
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span className="choice__text">{option.label}</span>
        </label>
      ))}
    </fieldset>
  )
}

interface SelectProps {
  label: string
  options: readonly { value: string; label: string }[]
  value: string
  onChange: (value: string) => void
  /** Whether the label is only for screen readers. */
  isLabelHidden?: boolean
}

/** A choice of one of many values. */
export function Select({ label, options, value, onChange, isLabelHidden = false }: SelectProps) {
  return (
    <label className="select">
      <span className={isLabelHidden ? 'hidden' : 'select__label'}>{label}</span>
      <select className="input select__input" value={value} onChange={({ target }) => onChange(target.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  )
}
