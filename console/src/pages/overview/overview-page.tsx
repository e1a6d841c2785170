import '../pages.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { newestEventsReading } from '../../api/queries/events.ts'
import { POLL_MS } from '../../api/queries/reading.ts'
import { type Read, useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import { startOfMonth, utcDay } from '../../format/time.ts'
import { PageHead } from '../../parts/page.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'
import { chosenSource, SourcePicker } from '../../parts/source-picker.tsx'
import { sourceIdOf, useSources } from '../../parts/sources.ts'
import { EventsPanel } from './events-panel.tsx'
import { PreviewsPanel } from './previews-panel.tsx'
import { TopAccountsPanel } from './top-accounts-panel.tsx'
import { UsagePanel } from './usage-panel.tsx'

/** The newest events that are shown. */
const EVENTS = 10

/** A company at a glance: usage of one source, the largest accounts, what comes in, and what it comes to. */
export function OverviewPage() {
  const client = useClient()
  const now = useNow()
  const [isPaused, setPaused] = useState(false)
  const events = useRead(newestEventsReading(client, { limit: EVENTS }, isPaused ? undefined : POLL_MS))
  const sources = useSources(client)
  const first = useFirstSource(events)
  const [{ source: sourceId }] = useUrlQuery()
  const source = chosenSource(sources.data, sourceId ?? first)
  if (events.data?.data.length === 0)
    return (
      <>
        <PageHead heading="Overview" />
        <NoEvent />
      </>
    )
  return (
    <>
      <PageHead heading="Overview" />
      {sources.error !== null && <Problem error={sources.error} onAgain={sources.again} />}
      <div className="columns">
        {sources.data !== undefined && source !== undefined && (
          <>
            <div className="range">
              <SourcePicker sources={sources.data} chosen={source} />
            </div>
            {/* Keyed, so that no number of another source or day is seen under the name of this one. */}
            <UsagePanel key={`usage ${source.id} ${utcDay(now)}`} source={source} now={now} />
            <TopAccountsPanel key={`top ${source.id} ${startOfMonth(now)}`} source={source} now={now} />
          </>
        )}
        <EventsPanel
          read={events}
          sources={sources.data}
          isPaused={isPaused}
          onPause={() => setPaused(!isPaused)}
        />
        <PreviewsPanel sources={sources.data} />
      </div>
    </>
  )
}

/** The source of the newest event when the page was opened: another one later does not change what is shown. */
function useFirstSource({ data, error }: Read<Schema<'UsageEventPage'>>): string | undefined {
  const [first, setFirst] = useState<string>()
  const newest = data?.data[0]
  if (first === undefined && newest !== undefined) setFirst(sourceIdOf(newest))
  if (first === undefined && error !== null) setFirst('')
  return first ?? ''
}

function NoEvent() {
  return (
    <Empty>
      <p>
        <strong>Nothing was reported yet.</strong> Usage, the largest accounts and what invoices come to are
        shown here once there is an event.
      </p>
      <p>
        <Link to="start" parameters={{}} className="button button--main">
          Send the first event
        </Link>
      </p>
    </Empty>
  )
}
