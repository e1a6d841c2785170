import '../pages.css'
import './prices.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { rateCardListing } from '../../api/queries/catalogue.ts'
import { useReadList } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { curlOf } from '../../format/curl.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Name } from '../../parts/text.tsx'
import { NewCardDialog } from './new-card-dialog.tsx'

type Card = Schema<'RateCardInList'>

/** All rate cards. */
export function RateCardsPage() {
  const client = useClient()
  const [isMaking, setMaking] = useState(false)
  const list = useReadList(rateCardListing(client))
  return (
    <>
      <PageHead heading="Rate cards" />
      <Panel
        heading="All rate cards"
        read={list}
        tools={
          client.may('write:all') && (
            <button type="button" className="button button--main" onClick={() => setMaking(true)}>
              New rate card
            </button>
          )
        }
      >
        {(cards) =>
          cards.length === 0 ? (
            <NoneYet />
          ) : (
            <DataTable
              caption="Rate cards"
              columns={COLUMNS}
              rows={cards}
              keyOf={({ id }) => id}
              hasMore={list.hasMore}
              isFetchingMore={list.isFetchingMore}
              onMore={list.more}
            />
          )
        }
      </Panel>
      {isMaking && <NewCardDialog onClose={() => setMaking(false)} />}
    </>
  )
}

const COLUMNS: readonly Column<Card>[] = [
  {
    heading: 'Rate card',
    cell: ({ id, name, archived_at: archivedAt }) => (
      <>
        <Link to="rate-card" parameters={{ rateCardId: id }}>
          <Name>{name}</Name>
        </Link>{' '}
        {archivedAt !== null && <Chip>archived</Chip>}
      </>
    ),
  },
  { heading: 'Currency', cell: ({ currency }) => currency },
  { heading: 'External id', cell: ({ external_id: id }) => (id === undefined ? null : <Id value={id} />) },
  { heading: 'Created', cell: ({ created_at: at }) => <Instant at={at} /> },
]

function NoneYet() {
  const { origin } = useClient()
  const body = { name: 'Standard', currency: 'usd', rates: [{ metric_id: 'metric_…', price_id: 'price_…' }] }
  return (
    <Empty>
      <p>
        <strong>No rate card yet.</strong> A rate card says which usage is charged by which price. Contracts
        of accounts follow it.
      </p>
      <p>
        First make a price, on the page of{' '}
        <Link to="products" parameters={{}}>
          products
        </Link>
        . Then make a card here, or send this:
      </p>
      <Snippet
        text={curlOf(origin, { method: 'POST', target: '/v2/rate-cards', body })}
        label="Copy this command"
      />
    </Empty>
  )
}
