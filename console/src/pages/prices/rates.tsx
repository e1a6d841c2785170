import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { cardReading, rateListing } from '../../api/queries/prices.ts'
import { type Read, useRead, useReadAll } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import { instantText, parseInstant } from '../../format/time.ts'
import { visibleText } from '../../format/visible-text.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Panel } from '../../parts/panel.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { Empty } from '../../parts/problem.tsx'
import type { Sources } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { TimelinePlot } from '../../plots/timeline-plot.tsx'
import type { Catalogue } from './catalogue.ts'
import { usageWords } from './words.ts'

type Rate = Schema<'Rate'>

/** What rates are named by. */
export interface Known {
  card: Schema<'RateCard'>
  catalogue: Catalogue
  sources: Sources
}

/** What a rate charges: `Tokens, sum of tokens`. */
export const rateWords = (rate: Rate, { catalogue, sources }: Known): string =>
  `${catalogue.nameOf(rate.product_id)}, ${usageWords(rate, sources)}`

/** What a rate costs, also one that is not made yet: `large: 0.02 usd each; the rest: 0.01 usd each`. */
export const pricesWords = (
  { prices, price_id: id }: Pick<Schema<'NewRate'>, 'prices' | 'price_id'>,
  catalogue: Catalogue,
): string => {
  const wordsOf = (priceId: string) => {
    const price = catalogue.priceOf(priceId)
    return price === undefined ? priceId : priceWords(price)
  }
  if (prices == null) return id == null ? '' : wordsOf(id)
  return [
    ...prices.map(({ value, price_id: ofValue }) => `${value}: ${wordsOf(ofValue)}`),
    `the rest: ${id == null ? 'not charged' : wordsOf(id)}`,
  ].join('; ')
}

/** A rate that was withdrawn before it began is never in force. */
const isWithdrawn = ({ starts_at: start, ends_at: end }: Rate): boolean => start === end

/** Rates that measure the same usage of a product stand in one row, one after the other. */
function rowsOf(rates: readonly Rate[], known: Known): { name: string; rates: Rate[] }[] {
  const rows = new Map<string, Rate[]>()
  for (const rate of rates) {
    const name = rateWords(rate, known)
    rows.set(name, [...(rows.get(name) ?? []), rate])
  }
  return [...rows].map(([name, ofRow]) => ({ name, rates: ofRow }))
}

/** All rates that the card ever had, as bars on a line of time. */
export function RateTimeline(known: Known) {
  const read = useReadAll(rateListing(useClient(), known.card.id, {}))
  const now = useNow()
  return (
    <Panel heading="Rates over time" read={read}>
      {(all) => {
        const rates = all.filter((rate) => !isWithdrawn(rate))
        if (rates.length === 0)
          return (
            <Empty>
              <p>
                <strong>No rate yet.</strong> The card charges nothing. Try a change that adds one.
              </p>
            </Empty>
          )
        const rows = rowsOf(rates, known)
        return (
          <TimelinePlot
            caption="Rates"
            input={{
              rows: rows.map(({ name, rates: ofRow }) => ({
                name: visibleText(name),
                bars: ofRow.map(({ starts_at: from, ends_at: to }) => ({
                  from: from === 0 ? null : from,
                  to: to ?? null,
                })),
              })),
              marks: [{ at: now, label: 'now' }],
            }}
            say={(row, bar) => {
              const rate = rows[row]?.rates[bar]
              return rate === undefined ? null : <Said rate={rate} known={known} />
            }}
            table={{ columns: columnsOf(known), rows: rates, keyOf: ({ id }) => id }}
          />
        )
      }}
    </Panel>
  )
}

function Said({ rate, known }: { rate: Rate; known: Known }) {
  return (
    <>
      <strong>
        <Name>{rateWords(rate, known)}</Name>
      </strong>{' '}
      <Name>{pricesWords(rate, known.catalogue)}</Name>, <From rate={rate} /> – <Until rate={rate} />
    </>
  )
}

const From = ({ rate: { starts_at: at } }: { rate: Rate }) => (at === 0 ? 'always' : <Instant at={at} />)
const Until = ({ rate: { ends_at: at } }: { rate: Rate }) =>
  at === undefined ? 'no end' : <Instant at={at} />

/** The rates that are in force at the second of the address; without one, those that have not ended. */
export function RatesAt(known: Known) {
  const [{ at: typed }] = useUrlQuery()
  const at = typed === undefined ? undefined : parseInstant(typed)
  return at === undefined ? <NotEnded known={known} /> : <InForce known={known} at={at} />
}

function NotEnded({ known }: { known: Known }) {
  const card = useRead(cardReading(useClient(), known.card.id))
  return (
    <RatesPanel
      heading="Rates that have not ended"
      read={{ ...card, data: card.data?.rates }}
      known={known}
      none="Every rate has ended, or there is none."
    />
  )
}

function InForce({ known, at }: { known: Known; at: number }) {
  const read = useReadAll(rateListing(useClient(), known.card.id, { at }))
  const none = `No rate is in force at ${instantText(at, 'utc')} UTC.`
  return <RatesPanel heading="Rates in force" read={read} known={known} none={none} />
}

interface RatesPanelProps {
  heading: string
  read: Read<readonly Rate[]>
  known: Known
  /** What is said when there is no rate. */
  none: string
}

function RatesPanel({ heading, read, known, none }: RatesPanelProps) {
  const [{ at: typed = '' }, change] = useUrlQuery()
  return (
    <Panel
      heading={heading}
      read={read}
      tools={
        <AtField key={typed} at={typed} onChange={(text) => change({ at: text === '' ? undefined : text })} />
      }
    >
      {(rates) =>
        rates.length === 0 ? (
          <Empty>
            <p>
              <strong>{none}</strong>
            </p>
          </Empty>
        ) : (
          <DataTable
            caption="Rates of the card"
            columns={columnsOf(known)}
            rows={rates}
            keyOf={({ id }) => id}
          />
        )
      }
    </Panel>
  )
}

function AtField({ at, onChange }: { at: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(at)
  const isInstant = text.trim() === '' || parseInstant(text) !== undefined
  return (
    <form
      className="range__days"
      onSubmit={(event) => {
        event.preventDefault()
        if (isInstant) onChange(text.trim())
      }}
    >
      <label className="select">
        <span className="select__label">In force at, UTC</span>
        <input
          className="input"
          value={text}
          maxLength={19}
          placeholder="yyyy-mm-dd hh:mm"
          autoComplete="off"
          aria-invalid={!isInstant}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      {text !== at && (
        <button type="submit" className="button" disabled={!isInstant}>
          Show
        </button>
      )}
    </form>
  )
}

const columnsOf = (known: Known): Column<Rate>[] => [
  {
    heading: 'Product',
    cell: ({ product_id: id }) => <Name>{known.catalogue.nameOf(id)}</Name>,
  },
  { heading: 'Usage', cell: (rate) => <Name>{usageWords(rate, known.sources)}</Name> },
  { heading: 'Prices', cell: (rate) => <Prices rate={rate} catalogue={known.catalogue} /> },
  { heading: 'From', cell: (rate) => (isWithdrawn(rate) ? 'withdrawn' : <From rate={rate} />) },
  { heading: 'Until', cell: (rate) => <Until rate={rate} /> },
]

function Prices({ rate, catalogue }: { rate: Rate; catalogue: Catalogue }) {
  const priceLink = (id: string) => {
    const price = catalogue.priceOf(id)
    return (
      <Link to="price" parameters={{ priceId: id }}>
        {price === undefined ? id : priceWords(price)}
      </Link>
    )
  }
  if (rate.prices === undefined) return rate.price_id === undefined ? null : priceLink(rate.price_id)
  return (
    <ul className="plain">
      {rate.prices.map(({ value, price_id: id }) => (
        <li key={value}>
          <Name>{value}</Name>: {priceLink(id)}
        </li>
      ))}
      <li>the rest: {rate.price_id === undefined ? 'not charged' : priceLink(rate.price_id)}</li>
    </ul>
  )
}
