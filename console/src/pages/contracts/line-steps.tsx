import type { ReactNode } from 'react'
import type { Schema } from '../../api/contract.ts'
import { Link } from '../../app/link.tsx'
import { approximate } from '../../format/fraction.ts'
import { periodText } from '../../format/period.ts'
import { DAY_S, utcDay } from '../../format/time.ts'
import { visibleText } from '../../format/visible-text.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Decimal, Money, Numbers } from '../../parts/decimal.tsx'
import { Fraction } from '../../parts/fraction.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { Snippet } from '../../parts/snippet.tsx'
import { sourceIdOf } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { ShareBars } from '../../plots/share-bars.tsx'
import { Counted } from './counted.tsx'
import type { Names } from './names.ts'

type Line = Schema<'InvoiceLine'>

interface LineStepsProps {
  line: Line
  preview: Schema<'InvoicePreview'>
  names: Names
}

/** How the amount of a line came about, step by step, in the order in which Tally computes it. */
export function LineSteps({ line, preview, names }: LineStepsProps) {
  const { price, currency, discount_percent: discount, exact_amount: exact, amount } = line
  const unit = line.aggregation === null ? '' : visibleText(names.source(sourceIdOf(line)).unit)
  const places = names.places(preview.currency) ?? null
  return (
    <div className="steps-of">
      <dl className="steps-of__list">
        <Step name="counted">
          <Counted line={line} names={names} />
          <HowCounted line={line} />
        </Step>
        {price.model !== 'flat' && (
          <>
            <Step name="included">
              − <Decimal value={price.included_quantity} />
            </Step>
            <Step name="billable">
              <Fraction value={line.billable_quantity} />
            </Step>
          </>
        )}
        <Step name="price">
          <Numbers>{priceWords(price, currency === null ? unit : '')}</Numbers>
        </Step>
      </dl>
      {line.tiers !== undefined && <Tiers line={line} tiers={line.tiers} preview={preview} />}
      <dl className="steps-of__list">
        <Step name="discount">{discount} %</Step>
        <Step name="share">{shareWords(line)}</Step>
        <Step name="bound">{boundWords(line, preview.currency)}</Step>
        <Step name="exact">
          <Fraction value={exact} />
          {approximate(exact) !== undefined && <span className="soft"> (cut off)</span>}
        </Step>
        <Step name="rounded">
          <Money value={amount} currency={preview.currency} places={places} />
        </Step>
      </dl>
      <Behind line={line} preview={preview} />
    </div>
  )
}

function Step({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="steps-of__step">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function HowCounted({ line }: { line: Line }) {
  const { aggregation, event_count: count, filters, start_at: startAt, end_at: endAt } = line
  return (
    <span className="soft">
      {aggregation !== null && (
        <>
          , {aggregation} of {count} {count === 1 ? 'event' : 'events'}
        </>
      )}
      {aggregation === null && line.price.model !== 'flat' && ', as agreed'}
      {filters.map(({ property, values }) => (
        <span key={property}>
          , where <Name>{property}</Name> is <Name>{values.join(' or ')}</Name>
        </span>
      ))}
      {line.share.seconds !== line.share.of && <>, {periodText(startAt, endAt)}</>}
    </span>
  )
}

/** The part of the period, in days if it is of whole days. */
function shareWords({ share: { seconds, of }, aggregation, price }: Line): string {
  if (seconds === of) return 'the whole period'
  const isByDay = seconds % DAY_S === 0 && of % DAY_S === 0
  const part = isByDay ? `${seconds / DAY_S} of ${of / DAY_S} days` : `${seconds} of ${of} seconds`
  if (price.model === 'flat' && !price.recurring) return `${part}, but the price is due once, in full`
  return aggregation === null ? part : `${part}, which is for the minimum and the maximum alone`
}

function boundWords({ bound, price }: Line, currency: string): string {
  if (bound === undefined || price.model === 'flat') return 'none'
  const amount = bound === 'minimum' ? price.minimum_amount : price.maximum_amount
  return `the ${bound} of ${amount ?? ''} ${currency}`
}

interface TiersProps {
  line: Line
  tiers: readonly Schema<'LineTier'>[]
  preview: Schema<'InvoicePreview'>
}

/** What fell into each tier: drawn, and as a table. */
function Tiers({ line: { price }, tiers, preview: { currency } }: TiersProps) {
  if (price.model !== 'graduated' && price.model !== 'volume') return null
  const priced = (upTo: string | null) => price.tiers.find(({ up_to: one }) => one === upTo)
  return (
    <div>
      <ShareBars
        bars={[
          { label: 'Quantity by tier', values: tiers.map(({ quantity }) => quantity) },
          { label: 'Amount by tier', values: tiers.map(({ exact_amount: amount }) => amount) },
        ]}
      />
      <DataTable
        caption="Tiers"
        columns={[
          {
            heading: 'Up to',
            cell: ({ up_to: upTo }) => (upTo === null ? 'no end' : <Decimal value={upTo} />),
          },
          { heading: 'Quantity', isNumber: true, cell: ({ quantity }) => <Fraction value={quantity} /> },
          {
            heading: price.per === '1' ? 'Each' : `Per ${price.per}`,
            isNumber: true,
            cell: ({ up_to: upTo }) => <Decimal value={priced(upTo)?.unit_amount ?? ''} />,
          },
          {
            heading: 'Flat',
            isNumber: true,
            cell: ({ up_to: upTo }) => <Decimal value={priced(upTo)?.flat_amount ?? ''} />,
          },
          {
            heading: `Cost, ${currency}`,
            isNumber: true,
            cell: ({ exact_amount: amount }) => <Fraction value={amount} />,
          },
        ]}
        rows={tiers}
        keyOf={({ up_to: upTo }) => upTo ?? 'last'}
      />
    </div>
  )
}

/** Where the quantity of a line comes from. */
function Behind({ line, preview }: { line: Line; preview: Schema<'InvoicePreview'> }) {
  if (line.aggregation === null) return null
  return (
    <>
      <p>
        <Link
          to="account-events"
          parameters={{ accountId: preview.account_id }}
          query={{ source: sourceIdOf(line), from: utcDay(line.start_at), to: utcDay(line.end_at - 1) }}
        >
          Events of this line&rsquo;s metric or currency in this time
        </Link>
      </p>
      {line.query === null ? (
        <p className="soft">
          There is no SQL for it in such a preview, because analysts see events as they are now.
        </p>
      ) : (
        <details className="steps-of__sql">
          <summary>SQL for your analysts</summary>
          <Snippet text={line.query} label="Copy this query" />
        </details>
      )}
    </>
  )
}
