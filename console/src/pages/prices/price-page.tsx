import '../pages.css'
import './prices.css'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { priceReading } from '../../api/queries/prices.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { ArchiveButton } from '../../parts/archive-button.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip, Fact, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { Text } from '../../parts/text.tsx'
import { TrailLink } from '../../parts/trail-link.tsx'
import { isMissing, Unread } from '../../parts/unread.tsx'
import { useCatalogue } from './catalogue.ts'
import { PriceView } from './price-view.tsx'
import { termsOf } from './terms.ts'

/** A price, drawn, and what a quantity costs by it. */
export function PricePage({ parameters: { priceId } }: { parameters: { priceId: string } }) {
  const client = useClient()
  const price = useRead(priceReading(client, priceId))
  const catalogue = useCatalogue(client).data
  const name = price.data === undefined ? undefined : catalogue?.nameOf(price.data.product_id)
  const crumbs = (
    <Link to="products" parameters={{}}>
      Products
    </Link>
  )
  return (
    <>
      <PageHead heading={name === undefined ? 'Price' : `Price of ${name}`} crumbs={crumbs}>
        {price.data !== undefined && <Facts price={price.data} />}
        <TrailLink resourceId={priceId} />
      </PageHead>
      {isMissing(price.error) ? (
        <Unread read={price} kind="price" id={priceId} />
      ) : (
        <Panel
          heading={price.data === undefined ? 'Terms' : priceWords(price.data)}
          read={price}
          tools={
            price.data !== undefined &&
            client.may('write:all') && (
              <ArchiveButton kind="price" id={priceId} isArchived={price.data.archived_at !== null} />
            )
          }
        >
          {(data) => <PriceView terms={termsOf(data)} currency={data.currency} />}
        </Panel>
      )}
    </>
  )
}

function Facts({ price }: { price: Schema<'Price'> }) {
  const { id, model, currency, description, archived_at: archivedAt, created_at: createdAt } = price
  return (
    <>
      {archivedAt !== null && (
        <Fact name="">
          <Chip tone="warn">archived</Chip> <Instant at={archivedAt} />
        </Fact>
      )}
      <Fact name="model">{model}</Fact>
      <Fact name="currency">{currency}</Fact>
      <Fact name="id">
        <Id value={id} />
      </Fact>
      <Fact name="created">
        <Instant at={createdAt} />
      </Fact>
      {description !== undefined && description !== '' && (
        <Fact name="description">
          <Text>{description}</Text>
        </Fact>
      )}
    </>
  )
}
