import { Link } from '../app/link.tsx'
import { useUrlQuery } from '../app/url.ts'
import { Select } from './choice.tsx'
import { Empty } from './problem.tsx'
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

/** Says that there is no metric and no currency yet. */
export function NoSource() {
  return (
    <Empty>
      <p>
        <strong>Nothing can be counted yet.</strong> Usage is of a metric, or in a currency.{' '}
        <Link to="start" parameters={{}}>
          First steps
        </Link>{' '}
        makes a metric, and sends it an event.
      </p>
    </Empty>
  )
}
