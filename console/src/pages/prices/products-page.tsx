import '../pages.css'
import './prices.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { Link } from '../../app/link.tsx'
import { curlOf } from '../../format/curl.ts'
import { ArchiveButton } from '../../parts/archive-button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Numbers } from '../../parts/decimal.tsx'
import { Id } from '../../parts/id.tsx'
import { Chip, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { Empty } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Text } from '../../parts/text.tsx'
import { useCatalogue } from './catalogue.ts'
import { NewPriceDialog } from './new-price-dialog.tsx'
import { NewProductDialog } from './new-product-dialog.tsx'

type Product = Schema<'Product'>
type Price = Schema<'Price'>

/** All products, and the prices of each. */
export function ProductsPage() {
  const client = useClient()
  const catalogue = useCatalogue(client)
  const [open, setOpen] = useState<Product | 'new'>()
  const mayWrite = client.may('write:all')
  const close = () => setOpen(undefined)
  return (
    <>
      <PageHead heading="Products and prices" />
      <Panel
        heading="All products"
        read={catalogue}
        tools={
          mayWrite && (
            <button type="button" className="button button--main" onClick={() => setOpen('new')}>
              New product
            </button>
          )
        }
      >
        {({ products, prices }) =>
          products.length === 0 ? (
            <NoneYet />
          ) : (
            <DataTable
              caption="Products"
              columns={columnsOf(prices, mayWrite ? setOpen : undefined)}
              rows={products}
              keyOf={({ id }) => id}
            />
          )
        }
      </Panel>
      {open === 'new' && <NewProductDialog onClose={close} />}
      {open !== undefined && open !== 'new' && <NewPriceDialog product={open} onClose={close} />}
    </>
  )
}

function columnsOf(
  prices: readonly Price[],
  onNewPrice: ((product: Product) => void) | undefined,
): Column<Product>[] {
  return [
    {
      heading: 'Product',
      cell: ({ name, description, archived_at: archivedAt }) => (
        <>
          <Text>{name}</Text> {archivedAt !== null && <Chip>archived</Chip>}
          {description !== undefined && description !== '' && (
            <div className="soft">
              <Text>{description}</Text>
            </div>
          )}
        </>
      ),
    },
    { heading: 'External id', cell: ({ external_id: id }) => (id === undefined ? null : <Id value={id} />) },
    {
      heading: 'Prices',
      cell: ({ id }) => <PricesOf prices={prices.filter(({ product_id: of }) => of === id)} />,
    },
    ...(onNewPrice === undefined ? [] : [actionsColumn(onNewPrice)]),
  ]
}

function PricesOf({ prices }: { prices: readonly Price[] }) {
  if (prices.length === 0) return <span className="soft">none yet</span>
  return (
    <ul className="plain">
      {prices.map((price) => (
        <li key={price.id}>
          <Link to="price" parameters={{ priceId: price.id }}>
            <Numbers>{priceWords(price)}</Numbers>
          </Link>{' '}
          {price.archived_at !== null && <Chip>archived</Chip>}
        </li>
      ))}
    </ul>
  )
}

const actionsColumn = (onNewPrice: (product: Product) => void): Column<Product> => ({
  heading: 'Change',
  cell: (product) => (
    <span className="row-actions">
      {product.archived_at === null && (
        <button type="button" className="button button--small" onClick={() => onNewPrice(product)}>
          New price
        </button>
      )}
      <ArchiveButton kind="product" id={product.id} isArchived={product.archived_at !== null} isSmall />
    </span>
  ),
})

function NoneYet() {
  const { origin } = useClient()
  const request = { method: 'POST', target: '/v2/products', body: { name: 'Tokens' } } as const
  return (
    <Empty>
      <p>
        <strong>No product yet.</strong> A product is what a line of an invoice is called. It has prices, and
        a rate card says which usage is charged by which of them.
      </p>
      <p>Make one here, or send this:</p>
      <Snippet text={curlOf(origin, request)} label="Copy this command" />
    </Empty>
  )
}
