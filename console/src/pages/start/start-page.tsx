import './start.css'
import { Redirect } from 'wouter'
import { useClient } from '../../api/client.ts'
import { callerReading } from '../../api/queries/caller.ts'
import { useRead } from '../../api/use-read.ts'
import { pathOf } from '../../app/routes.ts'
import { useUrlQuery } from '../../app/url.ts'
import { PageHead } from '../../parts/page.tsx'
import { Notice } from '../../parts/problem.tsx'
import { AwaitStep } from './await-step.tsx'
import { ChooseStep } from './choose-step.tsx'
import { NextStep } from './next-step.tsx'
import { SendStep } from './send-step.tsx'
import type { FirstEvent, Subject } from './subject.ts'

/** The first event: what it needs, how it is sent, and how the balance falls. All of it stands in the address. */
export function StartPage() {
  const client = useClient()
  const [{ account, metric, at }, change] = useUrlQuery()
  const subject: Subject | undefined =
    !account || !metric ? undefined : { accountId: account, metricId: metric }
  const mayRead = client.may('read:all')
  // The time of the event stands in the address, so that a reload shows the same event and not another one.
  const second = secondIn(at)
  return (
    <>
      <PageHead heading="First steps" />
      {!mayRead && (
        <Notice tone="warn">
          This key may not read, so this page cannot show what arrives. Other pages need a key with read:all.
        </Notice>
      )}
      <ol className="steps">
        <ChooseStep
          subject={subject}
          onChoose={({ accountId, metricId }) =>
            change({ account: accountId, metric: metricId, at: undefined })
          }
        />
        {subject !== undefined && second === undefined && <TimeOfEvent subject={subject} />}
        {subject !== undefined && second !== undefined && (
          <EventSteps
            key={`${subject.accountId} ${subject.metricId} ${second}`}
            event={{ ...subject, at: second }}
            mayRead={mayRead}
            onNewTime={() => change({ at: undefined })}
          />
        )}
      </ol>
    </>
  )
}

interface EventStepsProps {
  event: FirstEvent
  mayRead: boolean
  /** Takes the present time for another event. */
  onNewTime: () => void
}

function EventSteps({ event, mayRead, onNewTime }: EventStepsProps) {
  return (
    <>
      <SendStep event={event} onNewTime={onNewTime} />
      {mayRead && <AwaitStep event={event} />}
      <NextStep subject={event} />
    </>
  )
}

/** Takes the present time of the company, once Tally has said it: what it said at the sign-in may be long ago. */
function TimeOfEvent({ subject: { accountId, metricId } }: { subject: Subject }) {
  const { data, isFetching } = useRead(callerReading(useClient()))
  if (data === undefined || isFetching) return null
  const query = { account: accountId, metric: metricId, at: String(data.now) }
  return <Redirect to={pathOf('start', {}, query)} replace />
}

/** Reads Unix seconds, as the API takes them. */
const secondIn = (text = ''): number | undefined =>
  /^[1-9]\d{0,9}$/.test(text) ? (JSON.parse(text) as number) : undefined
