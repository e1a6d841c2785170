import '../pages.css'
import './prices.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { cardReading } from '../../api/queries/prices.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { ArchiveButton } from '../../parts/archive-button.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip, Fact, PageHead } from '../../parts/page.tsx'
import { Problem } from '../../parts/problem.tsx'
import { useSources } from '../../parts/sources.ts'
import { Text } from '../../parts/text.tsx'
import { TrailLink } from '../../parts/trail-link.tsx'
import { Unread } from '../../parts/unread.tsx'
import { type CardChange, readChange } from './card-change.ts'
import { useCatalogue } from './catalogue.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { RatesAt, RateTimeline } from './rates.tsx'

type Card = Schema<'RateCard'>

/** A rate card: its rates over time, and those of one second. */
export function RateCardPage({ parameters: { rateCardId } }: { parameters: { rateCardId: string } }) {
  const card = useRead(cardReading(useClient(), rateCardId))
  const crumbs = (
    <Link to="rate-cards" parameters={{}}>
      Rate cards
    </Link>
  )
  return (
    <>
      <PageHead heading={card.data?.name ?? 'Rate card'} crumbs={crumbs}>
        {card.data !== undefined && <Facts card={card.data} />}
        <TrailLink resourceId={rateCardId} />
      </PageHead>
      <Unread read={card} kind="rate card" id={rateCardId} />
      {card.data !== undefined && <Rates card={card.data} />}
    </>
  )
}

function Facts({ card }: { card: Card }) {
  const { id, currency, external_id: externalId, description, archived_at: archivedAt } = card
  return (
    <>
      {archivedAt !== null && (
        <Fact name="">
          <Chip tone="warn">archived</Chip> <Instant at={archivedAt} />
        </Fact>
      )}
      <Fact name="currency">{currency}</Fact>
      {externalId !== undefined && (
        <Fact name="external id">
          <Id value={externalId} />
        </Fact>
      )}
      <Fact name="id">
        <Id value={id} />
      </Fact>
      {description !== undefined && description !== '' && (
        <Fact name="description">
          <Text>{description}</Text>
        </Fact>
      )}
    </>
  )
}

function Rates({ card }: { card: Card }) {
  const client = useClient()
  const [{ changes }, change] = useUrlQuery()
  const carried = changes === undefined ? undefined : readChange(changes)
  const [isOpen, setOpen] = useState(false)
  const catalogue = useCatalogue(client)
  const sources = useSources(client)
  const close = () => {
    setOpen(false)
    change({ changes: undefined })
  }
  if (catalogue.data === undefined || sources.data === undefined) {
    const failed = [catalogue, sources].find(({ error }) => error !== null)
    return failed?.error == null ? null : <Problem error={failed.error} onAgain={failed.again} />
  }
  const known = { card, catalogue: catalogue.data, sources: sources.data }
  return (
    <div className="columns">
      <Actions card={card} onChange={() => setOpen(true)} />
      <RateTimeline {...known} />
      <RatesAt {...known} />
      {(isOpen || carried !== undefined) && (
        <ChangeDialog {...known} start={carried ?? NO_CHANGE} onClose={close} />
      )}
    </div>
  )
}

const NO_CHANGE: CardChange = {}

function Actions({ card, onChange }: { card: Card; onChange: () => void }) {
  const client = useClient()
  return (
    <div className="row-actions">
      <button type="button" className="button button--main" onClick={onChange}>
        Try a change
      </button>
      <Link to="simulate" parameters={{ rateCardId: card.id }} className="button">
        Simulate this card
      </Link>
      {client.may('write:all') && (
        <ArchiveButton kind="rate card" id={card.id} isArchived={card.archived_at !== null} />
      )}
    </div>
  )
}
