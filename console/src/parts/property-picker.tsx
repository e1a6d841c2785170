import { useId, useState } from 'react'
import { isPropertyName } from '../format/properties.ts'

interface PropertyPickerProps {
  value: string
  /** The names to offer. */
  seen: readonly string[]
  onChange: (property: string) => void
}

/** Chooses a property: one that was seen, or another that is typed. */
export function PropertyPicker({ value, seen, onChange }: PropertyPickerProps) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  const text = typed.trim()
  const isChanged = text !== value
  const isFault = text !== '' && !isPropertyName(text)
  return (
    <form
      className="range__days"
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged && isPropertyName(text)) onChange(text)
      }}
    >
      <label className="select__label" htmlFor={id}>
        Property
      </label>
      <input
        id={id}
        className="input input--mono"
        list={`${id}-seen`}
        value={typed}
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
        placeholder="model"
        onChange={({ target }) => {
          setTyped(target.value)
          // One that was seen was chosen from the list, or typed to its end.
          if (seen.includes(target.value)) onChange(target.value)
        }}
      />
      <datalist id={`${id}-seen`}>
        {seen.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {isChanged && (
        <button type="submit" className="button" disabled={text === '' || isFault}>
          Show
        </button>
      )}
      {isFault && (
        <span className="range__fault" role="alert">
          a name has letters, digits, dots, dashes and underscores
        </span>
      )}
    </form>
  )
}
