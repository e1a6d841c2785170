import { useState } from 'react'
import { useLocation } from 'wouter'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { CARD_CHANGES } from '../../api/queries/prices.ts'
import { useWrite } from '../../api/use-write.ts'
import { expectArrival } from '../../app/arrivals.ts'
import { Link } from '../../app/link.tsx'
import { pathOf } from '../../app/routes.ts'
import { FormDialog } from '../../parts/form.tsx'
import { Instant } from '../../parts/instant.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { useSources } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { type CardChange, changeText } from './card-change.ts'
import { useCatalogue } from './catalogue.ts'
import { rateWords } from './rates.tsx'
import { usageWords } from './words.ts'

interface TriedChangeProps {
  card: Schema<'RateCard'>
  change: CardChange
}

/** The change that is tried out, and the way to make it real. */
export function TriedChange({ card, change }: TriedChangeProps) {
  const client = useClient()
  const [isApplying, setApplying] = useState(false)
  return (
    <section className="panel" aria-label="The change that is tried">
      <div className="panel__body simulate">
        <ChangeWords card={card} change={change} />
        <div className="row-actions">
          {client.may('write:all') && (
            <button type="button" className="button" onClick={() => setApplying(true)}>
              Apply this change
            </button>
          )}
          <Link
            to="rate-card"
            parameters={{ rateCardId: card.id }}
            query={{ changes: changeText(change) }}
            className="button"
          >
            Edit it
          </Link>
        </div>
      </div>
      {isApplying && <ApplyDialog card={card} change={change} onClose={() => setApplying(false)} />}
    </section>
  )
}

function ChangeWords({ card, change: { effective_at: at, end, add } }: TriedChangeProps) {
  const client = useClient()
  const catalogue = useCatalogue(client).data
  const sources = useSources(client).data
  if (catalogue === undefined || sources === undefined) return null
  const endedWords = (id: string) => {
    const rate = card.rates.find((known) => known.id === id)
    return rate === undefined ? id : rateWords(rate, { card, catalogue, sources })
  }
  const addedWords = (rate: Schema<'NewRate'>) => {
    const ids = [...(rate.prices ?? []).map(({ price_id: id }) => id), rate.price_id ?? undefined]
    const prices = ids.flatMap((id) => (id === undefined ? [] : (catalogue.priceOf(id) ?? [])))
    const [first] = prices
    const product = first === undefined ? '' : `${catalogue.nameOf(first.product_id)}, `
    return `${product}${usageWords(rate, sources)}: ${prices.map((price) => priceWords(price)).join('; ')}`
  }
  return (
    <>
      <p>
        The change that is tried, in force from{' '}
        {at == null ? 'the second in which it is applied' : <Instant at={at} />}:
      </p>
      <ul className="plain">
        {(end ?? []).map((id) => (
          <li key={id}>
            <strong>ends</strong> <Name>{endedWords(id)}</Name>
          </li>
        ))}
        {(add ?? []).map((rate, index) => (
          <li key={index}>
            <strong>begins</strong> <Name>{addedWords(rate)}</Name>
          </li>
        ))}
      </ul>
    </>
  )
}

function ApplyDialog({ card, change, onClose }: TriedChangeProps & { onClose: () => void }) {
  const [, navigate] = useLocation()
  const write = useWrite<Schema<'RateCard'>>(CARD_CHANGES, () => {
    onClose()
    expectArrival()
    navigate(pathOf('rate-card', { rateCardId: card.id }))
  })
  return (
    <FormDialog
      heading="Apply this change"
      write={write}
      request={{ method: 'POST', target: `/v2/rate-cards/${card.id}/changes`, body: change }}
      names={[]}
      submit="Apply it"
      isTouched={false}
      onClose={onClose}
    >
      <ChangeWords card={card} change={change} />
      <p>
        Each contract meets the change with its next period. What is already running keeps its prices. Rates
        are never edited: to take this back, make another change.
      </p>
    </FormDialog>
  )
}
