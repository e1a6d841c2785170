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
          Price it: a{' '}
          <Link to="products" parameters={{}}>
            product with a price
          </Link>
          , a{' '}
          <Link to="rate-cards" parameters={{}}>
            rate card
          </Link>{' '}
          that says what the metric costs, and a{' '}
          <Link to="contracts" parameters={{}}>
            contract
          </Link>{' '}
          of the account, which starts before the event. Its page leads to the invoice preview.
        </li>
        <li>
          <a href="/docs">The API&rsquo;s page</a> has every operation.
        </li>
      </ul>
    </Step>
  )
}
