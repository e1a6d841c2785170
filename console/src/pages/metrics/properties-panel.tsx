import { useClient } from '../../api/client.ts'
import { newestEventsReading } from '../../api/queries/events.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { seenProperties, type SeenProperty } from '../../format/properties.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { Name, Text } from '../../parts/text.tsx'

const EVENTS = 100

/** Which properties the newest events of a metric have, and some of their values. */
export function PropertiesPanel({ source }: { source: Source }) {
  const read = useRead(newestEventsReading(useClient(), { ...sourceQuery(source), limit: EVENTS }))
  return (
    <Panel heading="Properties seen" read={read}>
      {({ data }) => {
        const seen = seenProperties(data)
        if (seen.length === 0)
          return (
            <Empty>
              <p>
                {data.length === 0 ? (
                  <strong>No event of this metric yet.</strong>
                ) : (
                  <>
                    <strong>The newest events have no properties.</strong> An event may carry some, such as
                    the model that was used. Then usage can be split by them.
                  </>
                )}
              </p>
            </Empty>
          )
        return (
          <DataTable
            caption="Properties"
            columns={columnsOf(source, data.length)}
            rows={seen}
            keyOf={({ name }) => name}
          />
        )
      }}
    </Panel>
  )
}

const columnsOf = (source: Source, events: number): Column<SeenProperty>[] => [
  {
    heading: 'Property',
    cell: ({ name, isSearchable }) =>
      isSearchable ? (
        <Link
          to="usage"
          parameters={{}}
          query={{ source: source.id, split: 'property', property: name }}
          className="id__text"
        >
          <Name>{name}</Name>
        </Link>
      ) : (
        <Text>{name}</Text>
      ),
  },
  {
    heading: 'Events',
    isNumber: true,
    cell: ({ events: having }) => `${having} of ${events === 1 ? 'one' : `the last ${events}`}`,
  },
  { heading: 'Some values', cell: ({ values }) => <Text>{values.join(', ')}</Text> },
]
