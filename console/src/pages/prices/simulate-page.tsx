import '../pages.css'
import './prices.css'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { rateCardListing } from '../../api/queries/catalogue.ts'
import { cardReading, type SimulationBody, simulationReading } from '../../api/queries/prices.ts'
import { useRead, useReadAll, useStop } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import { monthsOf } from '../../format/time.ts'
import { visibleText } from '../../format/visible-text.ts'
import { Select } from '../../parts/choice.tsx'
import { Id } from '../../parts/id.tsx'
import { Fact, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Notice } from '../../parts/problem.tsx'
import { type PickedRange, RangePicker, useRange } from '../../parts/range-picker.tsx'
import { Name } from '../../parts/text.tsx'
import { Unread } from '../../parts/unread.tsx'
import { Waiting } from '../../parts/work.tsx'
import { type CardChange, readChange } from './card-change.ts'
import { Result } from './simulation-result.tsx'
import { TriedChange } from './tried-change.tsx'
import { CADENCES, cadenceWords } from './words.ts'

/** What accounts would pay by a rate card, or by a change of it, beside what they pay now. */
export function SimulatePage({ parameters: { rateCardId } }: { parameters: { rateCardId: string } }) {
  const card = useRead(cardReading(useClient(), rateCardId))
  const crumbs = (
    <>
      <Link to="rate-cards" parameters={{}}>
        Rate cards
      </Link>{' '}
      ›{' '}
      <Link to="rate-card" parameters={{ rateCardId }}>
        <Name>{card.data?.name ?? rateCardId}</Name>
      </Link>
    </>
  )
  return (
    <>
      <PageHead heading="Simulation" crumbs={crumbs}>
        {card.data !== undefined && (
          <>
            <Fact name="currency">{card.data.currency}</Fact>
            <Fact name="id">
              <Id value={rateCardId} />
            </Fact>
          </>
        )}
      </PageHead>
      <Unread read={card} kind="rate card" id={rateCardId} />
      {card.data !== undefined && <Simulation card={card.data} />}
    </>
  )
}

function Simulation({ card }: { card: Schema<'RateCard'> }) {
  const now = useNow()
  const range = useRange(now, monthsOf(now).before)
  const [query, change] = useUrlQuery()
  const changes = query['changes'] === undefined ? undefined : readChange(query['changes'])
  const isUnread = query['changes'] !== undefined && changes === undefined
  const body = isUnread ? undefined : bodyOf(range, query, changes)
  return (
    <div className="columns">
      {isUnread && (
        <Notice tone="bad">
          <span>The change in this address cannot be read.</span>
          <button type="button" className="button" onClick={() => change({ changes: undefined })}>
            Leave it out
          </button>
        </Notice>
      )}
      {changes !== undefined && <TriedChange card={card} change={changes} />}
      <section className="panel" aria-label="What is compared">
        <div className="panel__body simulate">
          <p>
            The usage of all accounts in these days is rated by this card
            {changes === undefined ? '' : ', as it would be after the change'}, and compared with what they
            pay. Nothing is written. It reads the usage of every account, and may take some seconds.
          </p>
          <RangePicker now={now} range={range} />
          <Comparison card={card} />
          <button
            type="button"
            className="button button--main"
            disabled={isUnread || range.seconds === undefined}
            onClick={() => change({ run: now.toString() })}
          >
            Simulate
          </button>
        </div>
      </section>
      {body !== undefined && <Simulated key={JSON.stringify(body)} card={card} body={body} />}
    </div>
  )
}

const SECONDS = /^\d{1,11}$/

/**
 * The request of the address; undefined before it was asked for. `run` is the instant of the click: usage of the day
 * that runs is read up to it, so that the same address asks the same.
 */
function bodyOf(
  { seconds }: PickedRange,
  { run, cadence, against }: Readonly<Record<string, string | undefined>>,
  changes: CardChange | undefined,
): SimulationBody | undefined {
  if (run === undefined || !SECONDS.test(run) || seconds === undefined) return undefined
  const until = JSON.parse(run.replace(/^0+(?=\d)/, '')) as number
  const period = CADENCES.find((known) => known === cadence)
  return {
    start_at: seconds.startAt,
    end_at: Math.min(seconds.endAt, until),
    ...(period === undefined ? {} : { cadence: period }),
    ...(against === undefined ? {} : { against }),
    ...(changes === undefined ? {} : { changes }),
  }
}

/** Chooses the length of periods, and the other side. */
function Comparison({ card }: { card: Schema<'RateCard'> }) {
  const [{ cadence, against }, change] = useUrlQuery()
  const cards = useReadAll(rateCardListing(useClient()))
  const others = (cards.data ?? []).filter(({ currency }) => currency === card.currency)
  return (
    <div className="range">
      <Select
        label="Periods"
        options={[
          { value: '', label: 'One, the whole range' },
          ...CADENCES.map((value) => ({ value, label: `Each ${cadenceWords(value)}` })),
        ]}
        value={cadence ?? ''}
        onChange={(value) => change({ cadence: value === '' ? undefined : value })}
      />
      <Select
        label="Against"
        options={[
          { value: '', label: 'What each account pays' },
          { value: 'none', label: 'Nothing' },
          ...others.map(({ id, name }) => ({
            value: id,
            label: id === card.id ? `${visibleText(name)} (this card)` : visibleText(name),
          })),
        ]}
        value={against ?? ''}
        onChange={(value) => change({ against: value === '' ? undefined : value })}
      />
    </div>
  )
}

function Simulated({ card, body }: { card: Schema<'RateCard'>; body: SimulationBody }) {
  const client = useClient()
  const stopRead = useStop()
  const [, change] = useUrlQuery()
  const reading = simulationReading(client, card.id, body)
  const read = useRead(reading)
  const stop = () => {
    // The request is aborted, and Tally then ends the work.
    stopRead(reading)
    change({ run: undefined })
  }
  return (
    <>
      {read.isFetching && <Waiting doing="Rating all accounts," onStop={stop} />}
      <Panel heading="What accounts would pay" read={read}>
        {(data) => <Result cardId={card.id} body={body} simulation={data} />}
      </Panel>
    </>
  )
}
