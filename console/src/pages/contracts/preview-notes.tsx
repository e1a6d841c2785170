import type { Schema } from '../../api/contract.ts'
import { Link } from '../../app/link.tsx'
import { isZero } from '../../format/decimal.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Money } from '../../parts/decimal.tsx'
import { Id } from '../../parts/id.tsx'
import { Notice } from '../../parts/problem.tsx'
import { sourceIdOf } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { cardOf, keyOf } from './invoice-line.ts'
import { LineName } from './line-name.tsx'
import type { Names } from './names.ts'

export interface NotesProps {
  preview: Schema<'InvoicePreview'>
  /** All lines that the contract ever had. */
  lines: readonly Schema<'ContractLine'>[]
  names: Names
}

/** What a person should look at before the invoice is used. */
export function Warnings({ preview: { warnings, lines: invoice }, lines, names }: NotesProps) {
  return warnings.map((warning) => (
    <Notice key={JSON.stringify(warning)} tone="warn">
      <span>
        {warning.code === 'negative_quantity' ? (
          <>
            <strong>Below zero:</strong> the quantity of{' '}
            <WarnedLine warning={warning} invoice={invoice} names={names} lines={lines} /> is negative, so 0
            is billed. Correct or void the events that are.
          </>
        ) : (
          <>
            <strong>An unused price:</strong> the contract has its own price for{' '}
            <Name>{names.product(warning.price_override?.product_id ?? '')}</Name>, which{' '}
            <Name>{cardOf(warning, lines, names) ?? 'its card'}</Name> does not price.
          </>
        )}
      </span>
    </Notice>
  ))
}

interface WarnedLineProps {
  warning: Schema<'InvoiceWarning'>
  invoice: readonly Schema<'InvoiceLine'>[]
  names: Names
  lines: NotesProps['lines']
}

/** The name of the line that a warning is about. A line of 0 without a minimum is not on the invoice. */
function WarnedLine({ warning, invoice, names, lines }: WarnedLineProps) {
  const { contract_line_id: id, rate_id: rate, value } = warning
  const line = invoice.find(
    (one) => one.contract_line_id === id && one.rate_id === rate && one.value === (value ?? null),
  )
  return line === undefined ? (
    <>
      the rate <Id value={rate ?? id} />
      {value !== undefined && value !== null && (
        <>
          {' '}
          for <Name>{value}</Name>
        </>
      )}
    </>
  ) : (
    <LineName key={keyOf(line)} line={line} lines={lines} names={names} />
  )
}

/** Usage that no rate of the card covers, so that nobody pays for it. */
export function NotRated({ preview: { unrated, account_id: accountId }, names }: NotesProps) {
  if (unrated.length === 0) return null
  return (
    <section>
      <h3 className="preview__heading">Not rated</h3>
      <ul className="preview__list">
        {unrated.map((usage) => {
          const source = names.source(sourceIdOf(usage))
          return (
            <li key={source.id}>
              <AmountOf value={usage.quantity} source={source} /> in {usage.event_count}{' '}
              {usage.event_count === 1 ? 'event' : 'events'} of{' '}
              <Link to="account" parameters={{ accountId }} query={{ source: source.id }}>
                <Name>{source.label}</Name>
              </Link>
              : no rate covers it.
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** The grants that pay a part of the total. */
export function Credits({
  preview: { credits_applied: credits, credit_total: total, currency },
  names,
}: NotesProps) {
  if (credits.length === 0 || isZero(total)) return null
  const places = names.places(currency) ?? null
  return (
    <section>
      <h3 className="preview__heading">Paid by credit</h3>
      <DataTable
        caption="Grants that pay for it, in the order in which they are spent"
        columns={[
          {
            heading: 'Grant',
            cell: ({ grant_id: id }) => (id === null ? 'due, not yet written' : <Id value={id} />),
          },
          {
            heading: 'Pays',
            isNumber: true,
            cell: ({ amount }) => <Money value={amount} currency={currency} places={places} />,
          },
        ]}
        rows={credits}
        keyOf={({ grant_id: id, amount }) => id ?? `due ${amount}`}
      />
      <p className="soft">A preview lowers no balance. Debit these amounts when you settle the invoice.</p>
    </section>
  )
}
