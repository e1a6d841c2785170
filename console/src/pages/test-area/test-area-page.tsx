import '../pages.css'
import { useClient } from '../../api/client.ts'
import { Link } from '../../app/link.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty } from '../../parts/problem.tsx'
import { ClockPanel } from './clock-panel.tsx'
import { ResetPanel } from './reset-panel.tsx'
import { SeedPanel } from './seed-panel.tsx'

/** What only a test company has: a clock that moves, made-up data, and a reset. */
export function TestAreaPage() {
  const client = useClient()
  return (
    <>
      <PageHead heading="Test area" />
      {client.caller.company.mode === 'test' ? (
        <div className="columns">
          <ClockPanel />
          <SeedPanel />
          {client.may('write:all') && <ResetPanel />}
        </div>
      ) : (
        <NotForLive />
      )}
    </>
  )
}

function NotForLive() {
  return (
    <Empty>
      <p>
        <strong>This company is live.</strong> Its data are real, so its clock cannot be moved, no data are
        made up, and nothing is reset.
      </p>
      <p>
        <Link to="sign-in" parameters={{}}>
          Sign in
        </Link>{' '}
        with a key of a test company, such as the one that the first start made:{' '}
        <code>cat .data/test-api-key</code>
      </p>
    </Empty>
  )
}
