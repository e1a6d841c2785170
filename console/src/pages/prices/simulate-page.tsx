import '../pages.css'
import './prices.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { rateCardListing } from '../../api/queries/catalogue.ts'
import {
  cardReading,
  type SimulationBody,
  type SimulationQuestion,
  simulationReading,
} from '../../api/queries/prices.ts'
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
  const [query, change] = useUrlQuery()
  const until = secondOf(query['run'])
  const range = useRange(now, monthsOf(until ?? now).before)
  const [clicks, setClicks] = useState(0)
  const changes = query['changes'] === undefined ? undefined : readChange(query['changes'])
  const isUnread = query['changes'] !== undefined && changes === undefined
  const body = isUnread ? undefined : bodyOf(range, until, query, changes)
  // The time of a company may stand still, so clicks are counted too.
  const asked = `${until} ${clicks}`
  const simulate = () => {
    setClicks(clicks + 1)
    change({ from: range.from, to: range.to, run: now.toString() })
  }
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
            {changes === undefined ? '' : ', as it would be after the change'}, and compared with the other
            side, which is chosen below. Nothing is written. It reads the usage of every account, and may take
            some seconds.
          </p>
          <RangePicker now={now} range={range} also={NOT_RUN} />
          <Comparison card={card} />
          <button
            type="button"
            className="button button--main"
            disabled={isUnread || range.seconds === undefined}
            onClick={simulate}
          >
            Simulate
          </button>
        </div>
      </section>
      {body !== undefined && (
        <Simulated key={`${asked} ${JSON.stringify(body)}`} question={{ cardId: card.id, body, asked }} />
      )}
    </div>
  )
}

/** Other days are not simulated before they are asked for. */
const NOT_RUN = { run: undefined }

const SECONDS = /^\d{1,11}$/

/** `run` of the address: the instant of the click. */
const secondOf = (run: string | undefined): number | undefined =>
  run === undefined || !SECONDS.test(run) ? undefined : (JSON.parse(run.replace(/^0+(?=\d)/, '')) as number)

/**
 * The request of the address; undefined before it was asked for. Usage of the day that runs is read up to the second
 * of the click, so that the same address asks the same.
 */
function bodyOf(
  { seconds }: PickedRange,
  until: number | undefined,
  { cadence, against }: Readonly<Record<string, string | undefined>>,
  changes: CardChange | undefined,
): SimulationBody | undefined {
  if (until === undefined || seconds === undefined) return undefined
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

function Simulated({ question }: { question: SimulationQuestion }) {
  const client = useClient()
  const stopRead = useStop()
  const [, change] = useUrlQuery()
  const reading = simulationReading(client, question)
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
        {(data) => <Result question={question} simulation={data} />}
      </Panel>
    </>
  )
}
