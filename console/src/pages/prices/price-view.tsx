import { useState } from 'react'
import { compareRatios, formatRatio, parseRatio } from '../../../../shared/amount/ratio.ts'
import { type PriceTerms, readTerms, type Tier } from '../../../../shared/domain/billing/price.ts'
import { isDecimal, isNegative } from '../../format/decimal.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Decimal, Money } from '../../parts/decimal.tsx'
import { Fraction } from '../../parts/fraction.tsx'
import { drawnUntil, piecesOf, type PricedQuantity, priceQuantity } from '../../plots/prepare/price-curve.ts'
import { PricePlot } from '../../plots/price-plot.tsx'

interface PriceViewProps {
  terms: PriceTerms
  currency: string
}

/** A price: its amount over the quantity, its tiers, and what a quantity costs. */
export function PriceView({ terms, currency }: PriceViewProps) {
  const [typed, setTyped] = useState('')
  const read = readTerms(terms)
  if (read.model === 'flat') return <p>The amount is due whatever the usage. There is nothing to draw.</p>
  const text = typed.trim()
  const isQuantity = isDecimal(text) && !isNegative(text)
  const quantity = isQuantity ? parseRatio(text) : undefined
  const priced = quantity === undefined ? undefined : priceQuantity(read, quantity)
  const standard = drawnUntil(read)
  // A package has a step for each, so a long way of them is not drawn.
  const isFar = quantity !== undefined && read.model !== 'package' && compareRatios(quantity, standard) > 0
  const pieces = piecesOf(read, isFar ? quantity : standard)
  return (
    <>
      <PricePlot
        currency={currency}
        pieces={pieces}
        marked={
          quantity === undefined || priced === undefined ? undefined : { quantity, amount: priced.amount }
        }
      />
      <p>
        <label className="select">
          <span className="select__label">What do so many cost?</span>
          <input
            className="input"
            value={typed}
            inputMode="decimal"
            autoComplete="off"
            placeholder="1500"
            maxLength={40}
            onChange={({ target }) => setTyped(target.value)}
          />
        </label>
        {text !== '' && !isQuantity && (
          <span className="field__fault"> write it with digits and a point, as 1500</span>
        )}
      </p>
      {priced !== undefined && <Answer quantity={text} priced={priced} terms={terms} currency={currency} />}
      {'tiers' in terms && <Tiers terms={terms} currency={currency} />}
    </>
  )
}

interface AnswerProps extends PriceViewProps {
  quantity: string
  priced: PricedQuantity
}

/** How the amount of a quantity comes about. */
function Answer({ quantity, priced: { billable, cost, bound, amount }, terms, currency }: AnswerProps) {
  const included = terms.model === 'flat' ? '0' : terms.includedQuantity
  return (
    <div role="status" className="answer">
      <p>
        <Decimal value={quantity} /> cost{' '}
        <strong>
          <Fraction value={formatRatio(amount)} /> {currency}
        </strong>
        , before a discount and rounding.
      </p>
      {included !== '0' && (
        <p>
          <Decimal value={quantity} /> − <Decimal value={included} /> included:{' '}
          <Decimal value={formatRatio(billable)} /> to be paid.
        </p>
      )}
      {cost.tiers !== undefined && cost.tiers.length > 0 && (
        <ul>
          {cost.tiers.map(({ upTo, quantity: within, exactAmount }) => (
            <li key={upTo === null ? 'last' : formatRatio(upTo)}>
              <Fraction value={formatRatio(within)} /> in the tier{' '}
              {upTo === null ? 'without an end' : `up to ${formatRatio(upTo)}`}:{' '}
              <Fraction value={formatRatio(exactAmount)} /> {currency}
            </li>
          ))}
        </ul>
      )}
      {bound !== undefined && (
        <p>
          <Fraction value={formatRatio(cost.exactAmount)} /> {currency} by the usage, held by the {bound}.
        </p>
      )}
    </div>
  )
}

type Tiered = Extract<PriceTerms, { tiers: unknown }>

function Tiers({ terms, currency }: { terms: Tiered; currency: string }) {
  const rows = terms.tiers.map((tier, index) => ({
    tier,
    above: index === 0 ? '0' : (terms.tiers[index - 1]?.upTo ?? '0'),
  }))
  return (
    <>
      <h3>Tiers</h3>
      <p className="soft">
        {terms.model === 'graduated'
          ? 'Each tier prices the part of the quantity that is in it.'
          : 'The tier that contains the whole quantity prices all of it.'}
      </p>
      <DataTable
        caption="Tiers"
        columns={tierColumns(terms.per, currency)}
        rows={rows}
        keyOf={({ above }) => above}
      />
    </>
  )
}

const tierColumns = (per: string, currency: string): Column<{ tier: Tier; above: string }>[] => [
  { heading: 'Above', isNumber: true, cell: ({ above }) => <Decimal value={above} /> },
  {
    heading: 'Up to',
    isNumber: true,
    cell: ({ tier: { upTo } }) => (upTo === null ? 'no end' : <Decimal value={upTo} />),
  },
  {
    heading: per === '1' ? 'Each' : `Per ${per}`,
    isNumber: true,
    numberOf: ({ tier }) => tier.unitAmount,
    cell: ({ tier }) => <Money value={tier.unitAmount} currency={currency} />,
  },
  {
    heading: 'Step at its beginning',
    isNumber: true,
    numberOf: ({ tier }) => tier.flatAmount,
    cell: ({ tier }) => <Money value={tier.flatAmount} currency={currency} />,
  },
]
