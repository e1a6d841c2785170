import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountReading } from '../../api/queries/accounts.ts'
import { eventReading } from '../../api/queries/events.ts'
import { type Read, useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { EventMarks } from '../../parts/event-marks.tsx'
import { EventQuantity } from '../../parts/event-quantity.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { JsonBlock } from '../../parts/json-block.tsx'
import { Panel } from '../../parts/panel.tsx'
import { sourceIdOf, type Sources, useSources } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { isMissing, Unread } from '../../parts/unread.tsx'
import { CorrectEventDialog } from './correct-event-dialog.tsx'
import { Counting } from './counting.tsx'
import { EventRevisions } from './event-revisions.tsx'
import { VoidEventDialog } from './void-event-dialog.tsx'

type UsageEvent = Schema<'UsageEvent'>

interface EventDetailsProps {
  eventId: string
  /** Whether it stands beside a list, so that it links to the page of its own. */
  isInList?: boolean
}

/** An event with all its fields and revisions. It can be corrected and voided here. */
export function EventDetails({ eventId, isInList = false }: EventDetailsProps) {
  const client = useClient()
  const read = useRead(eventReading(client, eventId))
  const sources = useSources(client).data
  const [open, setOpen] = useState<'correct' | 'void'>()
  const [answered, setAnswered] = useState<UsageEvent>()
  const { data: event } = read
  if (isMissing(read.error)) return <Unread read={read} kind="event" id={eventId} />
  const source = event === undefined ? undefined : sources?.find(sourceIdOf(event))
  const done = (answer: UsageEvent | undefined) => {
    setOpen(undefined)
    setAnswered(answer)
  }
  return (
    <>
      <EventPanel read={read} sources={sources} isInList={isInList} onOpen={setOpen} />
      {answered !== undefined && source !== undefined && (
        // Keyed by what was answered, so that each correction is waited for by itself.
        <Counting key={JSON.stringify(answered)} event={answered} source={source} />
      )}
      <EventRevisions eventId={eventId} source={source} />
      {event !== undefined && open === 'correct' && (
        <CorrectEventDialog event={event} source={source} onClose={() => setOpen(undefined)} onDone={done} />
      )}
      {event !== undefined && open === 'void' && (
        <VoidEventDialog event={event} source={source} onClose={() => setOpen(undefined)} onDone={done} />
      )}
    </>
  )
}

interface EventPanelProps {
  read: Read<UsageEvent>
  sources: Sources | undefined
  isInList: boolean
  onOpen: (dialog: 'correct' | 'void') => void
}

function EventPanel({ read, sources, isInList, onOpen }: EventPanelProps) {
  const mayWrite =
    useClient().may('write:all') && read.data !== undefined && read.data.voided_at === undefined
  return (
    <Panel
      heading="Fields"
      read={read}
      tools={
        <>
          {isInList && read.data !== undefined && (
            <Link to="event" parameters={{ eventId: read.data.id }}>
              Page of this event
            </Link>
          )}
          {mayWrite && (
            <>
              <button type="button" className="button" onClick={() => onOpen('correct')}>
                Correct
              </button>
              <button type="button" className="button button--bad" onClick={() => onOpen('void')}>
                Void
              </button>
            </>
          )}
        </>
      }
    >
      {(event) => <Fields event={event} sources={sources} />}
    </Panel>
  )
}

function Fields({ event, sources }: { event: UsageEvent; sources: Sources | undefined }) {
  return (
    <dl className="fields">
      <dt>Quantity</dt>
      <dd>
        {sources === undefined ? event.quantity : <EventQuantity event={event} sources={sources} />}{' '}
        <EventMarks event={event} />
      </dd>
      <dt>Source</dt>
      <dd>
        <bdi className="text">{sources?.find(sourceIdOf(event)).label}</bdi>
      </dd>
      <dt>Account</dt>
      <dd>
        <Account id={event.account_id} />
      </dd>
      <dt>Occurred</dt>
      <dd>
        <Instant at={event.occurred_at} />
      </dd>
      <dt>Accepted</dt>
      <dd>
        <Instant at={event.accepted_at} />
      </dd>
      {event.corrected_at !== undefined && event.corrected_at !== event.voided_at && (
        <>
          <dt>Corrected</dt>
          <dd>
            <Instant at={event.corrected_at} />
          </dd>
        </>
      )}
      {event.voided_at !== undefined && (
        <>
          <dt>Voided</dt>
          <dd>
            <Instant at={event.voided_at} />
          </dd>
        </>
      )}
      <dt>Id</dt>
      <dd>
        <Id value={event.id} />
      </dd>
      <dt>Properties</dt>
      <dd>
        {Object.keys(event.properties).length === 0 ? (
          'none'
        ) : (
          <JsonBlock value={event.properties} label="Copy the properties" />
        )}
      </dd>
    </dl>
  )
}

function Account({ id }: { id: string }) {
  const { data } = useRead(accountReading(useClient(), id))
  return (
    <Link to="account" parameters={{ accountId: id }}>
      <Name>{data?.name ?? id}</Name>
    </Link>
  )
}
