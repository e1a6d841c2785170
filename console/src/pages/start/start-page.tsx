import './start.css'
import { useClient } from '../../api/client.ts'
import { useUrlQuery } from '../../app/url.ts'
import { PageHead } from '../../parts/page.tsx'
import { Notice } from '../../parts/problem.tsx'
import { AwaitStep } from './await-step.tsx'
import { ChooseStep } from './choose-step.tsx'
import { NextStep } from './next-step.tsx'
import { SendStep } from './send-step.tsx'
import type { Subject } from './subject.ts'

/** The first event: what it needs, how it is sent, and how the balance falls. All of it stands in the address. */
export function StartPage() {
  const client = useClient()
  const [{ account, metric }, change] = useUrlQuery()
  const subject: Subject | undefined =
    !account || !metric ? undefined : { accountId: account, metricId: metric }
  const mayRead = client.may('read:all')
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
          onChoose={({ accountId, metricId }) => change({ account: accountId, metric: metricId })}
        />
        {subject !== undefined && (
          <>
            <SendStep key={`send ${subject.accountId} ${subject.metricId}`} subject={subject} />
            {mayRead && (
              <AwaitStep key={`await ${subject.accountId} ${subject.metricId}`} subject={subject} />
            )}
            <NextStep subject={subject} />
          </>
        )}
      </ol>
    </>
  )
}
