import type { Schema } from '../../api/contract.ts'
import type { Read } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { propertiesText } from '../../format/properties.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { EventMarks } from '../../parts/event-marks.tsx'
import { EventQuantity } from '../../parts/event-quantity.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { sourceIdOf, type Sources } from '../../parts/sources.ts'
import { Name, Text } from '../../parts/text.tsx'

interface EventsPanelProps {
  read: Read<Schema<'UsageEventPage'>>
  sources: Sources | undefined
  isPaused: boolean
  onPause: () => void
}

/** The events that were accepted last, as they come. */
export function EventsPanel({ read, sources, isPaused, onPause }: EventsPanelProps) {
  const nameOf = useAccountNames((read.data?.data ?? []).map(({ account_id: id }) => id))
  return (
    <Panel
      heading="Events as they come"
      read={read}
      tools={
        <>
          {isPaused && <Chip tone="warn">paused</Chip>}
          <button type="button" className="button" onClick={onPause}>
            {isPaused ? 'Go on' : 'Pause'}
          </button>
        </>
      }
    >
      {({ data }) => (
        <DataTable
          caption="Newest events"
          columns={columnsOf(sources, nameOf)}
          rows={data}
          keyOf={({ id }) => id}
        />
      )}
    </Panel>
  )
}

const columnsOf = (
  sources: Sources | undefined,
  nameOf: (id: string) => string,
): Column<Schema<'UsageEvent'>>[] => [
  { heading: 'Occurred', cell: ({ occurred_at: at }) => <Instant at={at} /> },
  {
    heading: 'Account',
    cell: (event) => (
      <Link to="account" parameters={{ accountId: event.account_id }} query={{ source: sourceIdOf(event) }}>
        <Name>{nameOf(event.account_id)}</Name>
      </Link>
    ),
  },
  {
    heading: 'Quantity',
    isNumber: true,
    numberOf: ({ quantity }) => quantity,
    cell: (event) => sources !== undefined && <EventQuantity event={event} sources={sources} />,
  },
  {
    heading: 'Properties',
    cell: (event) => <Properties event={event} />,
  },
]

/** Nothing at all for an event without marks and properties, so that a card leaves the line out. */
function Properties({ event }: { event: Schema<'UsageEvent'> }) {
  const text = propertiesText(event.properties)
  if (text === '' && event.corrected_at === undefined) return null
  return (
    <>
      <EventMarks event={event} /> <Text>{text}</Text>
    </>
  )
}
