import { useUrlQuery } from '../../app/url.ts'
import { chipsOf, type PropertyChip } from '../../format/event-properties.ts'
import { visibleText } from '../../format/visible-text.ts'

/** So many properties of an event, and characters of each, are shown in a list. The event itself shows all. */
const [CHIPS_MAX, TEXT_MAX] = [6, 60]

/** The properties of an event in a list. A click on one shows only events that have it. */
export function EventChips({ properties }: { properties: Readonly<Record<string, unknown>> }) {
  const chips = chipsOf(properties)
  const more = chips.length - CHIPS_MAX
  if (chips.length === 0) return null
  return (
    <span className="row-actions">
      {chips.slice(0, CHIPS_MAX).map((chip) => (
        <Property key={chip.name} chip={chip} />
      ))}
      {more > 0 && <span className="soft">{more} more</span>}
    </span>
  )
}

function Property({ chip: { name, text, isFilter } }: { chip: PropertyChip }) {
  const [, change] = useUrlQuery()
  const said = (
    <>
      <bdi>{shortText(name)}</bdi> = <bdi>{shortText(text)}</bdi>
    </>
  )
  if (!isFilter) return <span className="chip property">{said}</span>
  return (
    <button
      type="button"
      className="chip property property--filters"
      aria-label={`Only ${shortText(name)} = ${shortText(text)}`}
      onClick={() => change({ property: name, value: text })}
    >
      {said}
    </button>
  )
}

function shortText(text: string): string {
  const characters = Array.from(text)
  const shown = visibleText(characters.slice(0, TEXT_MAX).join(''))
  return characters.length > TEXT_MAX ? `${shown}…` : shown
}
