import '../pages.css'
import { useClient } from '../../api/client.ts'
import { accountReading } from '../../api/queries/accounts.ts'
import { eventReading } from '../../api/queries/events.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { instantText, utcDay } from '../../format/time.ts'
import { PageHead } from '../../parts/page.tsx'
import { sourceIdOf } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { EventDetails } from './event-details.tsx'

/** One event, as a page that can be linked. */
export function EventPage({ parameters: { eventId } }: { parameters: { eventId: string } }) {
  const client = useClient()
  const { data: event } = useRead(eventReading(client, eventId))
  const { data: account } = useRead(accountReading(client, event?.account_id ?? ''), {
    isEnabled: event !== undefined,
  })
  const day = event === undefined ? undefined : utcDay(event.occurred_at)
  return (
    <>
      <PageHead
        heading={event === undefined ? 'Event' : `Event of ${instantText(event.occurred_at, 'utc')} UTC`}
        crumbs={
          <>
            <Link to="accounts" parameters={{}}>
              Accounts
            </Link>
            {event !== undefined && (
              <>
                {' › '}
                <Link to="account" parameters={{ accountId: event.account_id }}>
                  <Name>{account?.name ?? event.account_id}</Name>
                </Link>
                {' › '}
                <Link
                  to="account-events"
                  parameters={{ accountId: event.account_id }}
                  query={{ source: sourceIdOf(event), from: day, to: day }}
                >
                  Events of that day
                </Link>
              </>
            )}
          </>
        }
      />
      <div className="columns">
        <EventDetails eventId={eventId} />
      </div>
    </>
  )
}
