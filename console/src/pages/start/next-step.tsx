import { Link } from '../../app/link.tsx'
import { Step } from './step.tsx'
import type { Subject } from './subject.ts'

/** What to try next. */
export function NextStep({ subject: { accountId, metricId } }: { subject: Subject }) {
  return (
    <Step heading="Then">
      <ul className="steps__next">
        <li>
          <Link to="account" parameters={{ accountId }} query={{ source: metricId }}>
            See the account
          </Link>
          : its balance, its usage by day, its grants. Set up a refill there, and it fills itself.
        </li>
        <li>Send the same event again. It still counts once.</li>
        <li>
          Report a file that you have: <code>npm run import -- FILE</code>
        </li>
        <li>
          Correct the event, price it, preview an invoice: the README has a tour, and{' '}
          <a href="/docs">the API&rsquo;s page</a> every operation.
        </li>
      </ul>
    </Step>
  )
}
