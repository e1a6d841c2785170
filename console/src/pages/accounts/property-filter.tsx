import { useId, useState } from 'react'
import { useUrlQuery } from '../../app/url.ts'
import { isPropertyName } from '../../format/properties.ts'

interface PropertyFilterProps {
  property: string | undefined
  value: string | undefined
  /** The names to offer. */
  seen: readonly string[]
}

const [NAME_MAX, VALUE_MAX] = [100, 500]

/** Shows only events whose property has a value, and writes both into the address. */
export function PropertyFilter({ property = '', value = '', seen }: PropertyFilterProps) {
  const id = useId()
  const [, change] = useUrlQuery()
  const [name, setName] = useState(property)
  const [text, setText] = useState(value)
  const isFault = name.trim() !== '' && !isPropertyName(name.trim())
  const isReady = name.trim() !== '' && text !== '' && !isFault
  return (
    <form
      className="range__days filter"
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) change({ property: name.trim(), value: text })
      }}
    >
      <input
        className="input input--mono"
        aria-label="Property"
        placeholder="property"
        list={id}
        value={name}
        maxLength={NAME_MAX}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => setName(target.value)}
      />
      <datalist id={id}>
        {seen.filter(isPropertyName).map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      <span aria-hidden="true">=</span>
      <input
        className="input input--mono"
        aria-label="Value"
        placeholder="value"
        value={text}
        maxLength={VALUE_MAX}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => setText(target.value)}
      />
      <button
        type="submit"
        className="button"
        disabled={!isReady || (name.trim() === property && text === value)}
      >
        Filter
      </button>
      {property !== '' && value !== '' && (
        <button
          type="button"
          className="button"
          onClick={() => change({ property: undefined, value: undefined })}
        >
          All events
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
