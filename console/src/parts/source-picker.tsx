import { useUrlQuery } from '../app/url.ts'
import { Select } from './choice.tsx'
import type { Source, Sources } from './sources.ts'

/** The source of the address, or the first one that is not archived; undefined where there is none. */
export function chosenSource(sources: Sources | undefined, id: string | undefined): Source | undefined {
  if (sources === undefined) return undefined
  if (id !== undefined && id !== '') return sources.find(id)
  return sources.list.find(({ isArchived }) => !isArchived) ?? sources.list[0]
}

/** Chooses a metric or a currency, and writes it into the address. */
export function SourcePicker({ sources, chosen }: { sources: Sources; chosen: Source }) {
  const [, change] = useUrlQuery()
  const isListed = sources.list.some(({ id }) => id === chosen.id)
  return (
    <Select
      label="Usage of"
      options={(isListed ? sources.list : [chosen, ...sources.list]).map(({ id, label }) => ({
        value: id,
        label,
      }))}
      value={chosen.id}
      onChange={(source) => change({ source })}
    />
  )
}
