import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { previewReading } from '../../api/queries/previews.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { visibleText } from '../../format/visible-text.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Money } from '../../parts/decimal.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Notice } from '../../parts/problem.tsx'
import { sourceIdOf, type Sources, useSources } from '../../parts/sources.ts'

type Preview = Schema<'InvoicePreview'>

/** What the present period of a contract comes to so far. */
export function ContractPreview({ contract: { id, name } }: { contract: Schema<'ContractSummary'> }) {
  const client = useClient()
  const read = useRead(previewReading(client, { contract_id: id }))
  const sources = useSources(client).data
  return (
    <Panel heading={`Invoice preview, ${visibleText(name ?? id)}`} read={read}>
      {(preview) => <Totals preview={preview} sources={sources} />}
    </Panel>
  )
}

function Totals({ preview, sources }: { preview: Preview; sources: Sources | undefined }) {
  const { currency, period } = preview
  const places = sources?.find(currency).places ?? null
  const amount = (value: string) => <Money value={value} currency={currency} places={places} />
  return (
    <>
      <Warnings preview={preview} sources={sources} />
      <p className="facts">
        <Link to="preview" parameters={{ contractId: preview.contract_id }}>
          Show each line
        </Link>{' '}
        <Link to="contract" parameters={{ contractId: preview.contract_id }}>
          Show the contract
        </Link>
      </p>
      <dl className="fields">
        <dt>Period</dt>
        <dd>
          <Instant at={period.start_at} /> to <Instant at={period.end_at} />
        </dd>
        <dt>Usage until</dt>
        <dd>
          <Instant at={preview.as_of} />
        </dd>
        <dt>Lines</dt>
        <dd>{preview.lines.length}</dd>
        {preview.minimum_adjustment !== '0' && (
          <>
            <dt>Up to the minimum</dt>
            <dd>{amount(preview.minimum_adjustment)}</dd>
          </>
        )}
        <dt>Total</dt>
        <dd>{amount(preview.total)}</dd>
        <dt>Paid by credit</dt>
        <dd>{amount(preview.credit_total)}</dd>
        <dt>
          <strong>Due</strong>
        </dt>
        <dd>
          <strong>{amount(preview.amount_due)}</strong>
        </dd>
      </dl>
    </>
  )
}

const CODES = {
  negative_quantity: 'The quantity of a rate is below 0, so 0 is billed.',
  override_unused: 'An override is for a product that the card does not price.',
} as const

/** What somebody should look at before the amounts are used. */
function Warnings({
  preview: { unrated, warnings },
  sources,
}: {
  preview: Preview
  sources: Sources | undefined
}) {
  if (unrated.length === 0 && warnings.length === 0) return null
  const codes = [...new Set(warnings.map(({ code }) => code))]
  return (
    <Notice tone="warn">
      <ul className="plain-list">
        {unrated.map((usage) => (
          <li key={sourceIdOf(usage)}>
            Not rated:{' '}
            {sources === undefined ? (
              usage.quantity
            ) : (
              <AmountOf value={usage.quantity} source={sources.find(sourceIdOf(usage))} />
            )}{' '}
            in {usage.event_count} {usage.event_count === 1 ? 'event' : 'events'}
          </li>
        ))}
        {codes.map((code) => (
          <li key={code}>{CODES[code]}</li>
        ))}
      </ul>
    </Notice>
  )
}
