import { type ReactNode, useState } from 'react'
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
import { Problem } from '../../parts/problem.tsx'
import { useSources } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { type CardChange, changeText } from './card-change.ts'
import { useCatalogue } from './catalogue.ts'
import { RateTimes } from './rate-fields.tsx'
import { type Known, pricesWords, rateWords } from './rates.tsx'
import { usageWords } from './words.ts'

interface TriedChangeProps {
  card: Schema<'RateCard'>
  change: CardChange
}

/** The change that is tried out, and the way to make it real. */
export function TriedChange({ card, change }: TriedChangeProps) {
  const client = useClient()
  const [isApplying, setApplying] = useState(false)
  const catalogue = useCatalogue(client)
  const sources = useSources(client)
  // Without the words for the change, it cannot be applied.
  if (catalogue.data === undefined || sources.data === undefined) {
    const failed = [catalogue, sources].find(({ error }) => error !== null)
    return failed?.error == null ? null : <Problem error={failed.error} onAgain={failed.again} />
  }
  const words = (
    <ChangeWords change={change} {...{ card, catalogue: catalogue.data, sources: sources.data }} />
  )
  return (
    <section className="panel" aria-label="The change that is tried">
      <div className="panel__body simulate">
        {words}
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
      {isApplying && (
        <ApplyDialog card={card} change={change} onClose={() => setApplying(false)}>
          {words}
        </ApplyDialog>
      )}
    </section>
  )
}

function ChangeWords({
  change: { effective_at: at, end, add },
  ...known
}: Known & Pick<TriedChangeProps, 'change'>) {
  const { card, catalogue, sources } = known
  const endedWords = (id: string) => {
    const rate = card.rates.find((ofCard) => ofCard.id === id)
    return rate === undefined ? id : rateWords(rate, known)
  }
  const addedWords = (rate: Schema<'NewRate'>) => {
    const ids = [...(rate.prices ?? []).map(({ price_id: id }) => id), rate.price_id ?? '']
    const [first] = ids.flatMap((id) => catalogue.priceOf(id) ?? [])
    const product = first === undefined ? '' : `${catalogue.nameOf(first.product_id)}, `
    return `${product}${usageWords(rate, sources)}: ${pricesWords(rate, catalogue)}`
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
            <RateTimes times={rate} />
          </li>
        ))}
      </ul>
    </>
  )
}

interface ApplyDialogProps extends TriedChangeProps {
  onClose: () => void
  /** The words for the change. */
  children: ReactNode
}

function ApplyDialog({ card, change, onClose, children }: ApplyDialogProps) {
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
      {children}
      <p>
        Each contract meets the change with its next period. What is already running keeps its prices. Rates
        are never edited: to take this back, make another change.
      </p>
    </FormDialog>
  )
}
