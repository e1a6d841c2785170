import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { type EventFilter, eventListing } from '../../api/queries/events.ts'
import { useReadList } from '../../api/use-read.ts'
import { useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import { Select } from '../../parts/choice.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { EventMarks } from '../../parts/event-marks.tsx'
import { EventQuantity } from '../../parts/event-quantity.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Notice } from '../../parts/problem.tsx'
import { type PickedRange, RangePicker, useRange } from '../../parts/range-picker.tsx'
import { sourceIdOf, type Sources, useSources } from '../../parts/sources.ts'
import { AccountFrame } from './account-frame.tsx'
import { EventChips } from './event-chips.tsx'
import { EventDetails } from './event-details.tsx'
import { NoEvent } from './no-event.tsx'
import { PropertyFilter } from './property-filter.tsx'

type UsageEvent = Schema<'UsageEvent'>

/** The events of an account, by the time at which they occurred. One of them opens beside the list. */
export function AccountEventsPage({ parameters: { accountId } }: { parameters: { accountId: string } }) {
  const [{ event: eventId }, change] = useUrlQuery()
  return (
    <AccountFrame accountId={accountId} tab="account-events">
      {() => (
        <>
          <Events accountId={accountId} />
          {eventId !== undefined && (
            <Dialog heading="Event" isDrawer onClose={() => change({ event: undefined })}>
              <div className="dialog__body columns">
                <EventDetails eventId={eventId} isInList />
              </div>
            </Dialog>
          )}
        </>
      )}
    </AccountFrame>
  )
}

function Events({ accountId }: { accountId: string }) {
  const now = useNow()
  const range = useRange(now)
  const sources = useSources(useClient()).data
  if (range.seconds === undefined)
    return (
      <Notice tone="bad">
        <span>The range of this address cannot be shown: {range.fault}.</span>
        <RangePicker now={now} range={range} />
      </Notice>
    )
  return (
    <EventsPanel accountId={accountId} range={range} seconds={range.seconds} sources={sources} now={now} />
  )
}

interface EventsPanelProps {
  accountId: string
  range: PickedRange
  seconds: { startAt: number; endAt: number }
  sources: Sources | undefined
  now: number
}

function EventsPanel({ accountId, range, seconds, sources, now }: EventsPanelProps) {
  const [{ source: sourceId, property, value }, change] = useUrlQuery()
  const filter: EventFilter = {
    account_id: accountId,
    ...sourceFilter(sourceId),
    ...(property !== undefined && value !== undefined ? { property, value } : {}),
  }
  const [seen, setSeen] = useState<readonly string[]>([])
  const list = useReadList(
    eventListing(useClient(), { ...filter, start_at: seconds.startAt, end_at: seconds.endAt }),
    { keepsEarlier: true },
  )
  const names = namesIn(list.data ?? [], seen)
  if (names.length !== seen.length) setSeen(names)
  return (
    <Panel
      heading="Events"
      read={list}
      tools={
        <>
          {sources !== undefined && (
            <SourceFilter sources={sources} value={sourceId} onChange={(source) => change({ source })} />
          )}
          <RangePicker now={now} range={range} />
        </>
      }
    >
      {(events) => (
        <>
          <PropertyFilter key={`${property} ${value}`} property={property} value={value} seen={seen} />
          {events.length === 0 ? (
            <NoEvent filter={filter} range={range} startAt={seconds.startAt} />
          ) : (
            <>
              <p className="soft">
                Newest first, by the time at which they occurred. New ones are added as they come, until you
                read more.
              </p>
              <DataTable
                caption="Events, newest first"
                columns={columnsOf(sources, (id) => change({ event: id }))}
                rows={events}
                keyOf={({ id }) => id}
                hasMore={list.hasMore}
                isFetchingMore={list.isFetchingMore}
                onMore={list.more}
              />
            </>
          )}
        </>
      )}
    </Panel>
  )
}

const sourceFilter = (id: string | undefined): Pick<EventFilter, 'metric_id' | 'currency'> =>
  id === undefined || id === '' ? {} : id.startsWith('metric_') ? { metric_id: id } : { currency: id }

/** The names of properties that were seen on this page, to choose from. */
const namesIn = (events: readonly UsageEvent[], before: readonly string[]): readonly string[] => [
  ...new Set([...before, ...events.flatMap(({ properties }) => Object.keys(properties))]),
]

interface SourceFilterProps {
  sources: Sources
  value: string | undefined
  onChange: (source: string | undefined) => void
}

function SourceFilter({ sources, value = '', onChange }: SourceFilterProps) {
  const { list } = sources
  const isListed = value === '' || list.some(({ id }) => id === value)
  return (
    <Select
      label="Source"
      isLabelHidden
      options={[
        { value: '', label: 'All sources' },
        ...[...(isListed ? [] : [sources.find(value)]), ...list].map(({ id, label }) => ({
          value: id,
          label,
        })),
      ]}
      value={value}
      onChange={(chosen) => onChange(chosen === '' ? undefined : chosen)}
    />
  )
}

const columnsOf = (sources: Sources | undefined, onOpen: (id: string) => void): Column<UsageEvent>[] => [
  {
    heading: 'Occurred',
    cell: ({ id, occurred_at: at }) => (
      <button type="button" className="as-link" aria-haspopup="dialog" onClick={() => onOpen(id)}>
        <Instant at={at} />
      </button>
    ),
  },
  {
    heading: 'Quantity',
    isNumber: true,
    numberOf: ({ quantity }) => quantity,
    cell: (event) => sources !== undefined && <EventQuantity event={event} sources={sources} />,
  },
  {
    heading: 'Source',
    cell: (event) => <bdi className="text">{sources?.find(sourceIdOf(event)).label}</bdi>,
  },
  { heading: 'Properties', cell: ({ properties }) => <EventChips properties={properties} /> },
  { heading: 'State', cell: (event) => <EventMarks event={event} /> },
]
