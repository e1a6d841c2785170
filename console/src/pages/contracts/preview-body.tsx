import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { contractLineListing } from '../../api/queries/contracts.ts'
import { useReadAll } from '../../api/use-read.ts'
import { useIsClockMoved } from '../../app/now.ts'
import { BASE, pathOf } from '../../app/routes.ts'
import { useUrlQuery } from '../../app/url.ts'
import { isZero } from '../../format/decimal.ts'
import { instantParameter, periodText } from '../../format/period.ts'
import { DAY_S } from '../../format/time.ts'
import { Money } from '../../parts/decimal.tsx'
import { CopyButton } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Empty, Notice } from '../../parts/problem.tsx'
import type { Asked } from './asked.ts'
import { Change, Differences, EventDifferences } from './differences.tsx'
import { InvoiceLines } from './invoice-lines.tsx'
import type { Names } from './names.ts'
import { Credits, NotRated, Warnings } from './preview-notes.tsx'

interface PreviewBodyProps {
  preview: Schema<'InvoicePreview'>
  contract: Schema<'Contract'>
  names: Names
  /** What the preview is the answer to. */
  asked: Asked
}

/** The answer to a preview. */
export function PreviewBody({ preview, contract, names, asked }: PreviewBodyProps) {
  const lines = useReadAll(contractLineListing(useClient(), contract.id)).data ?? contract.lines
  const notes = { preview, names, lines }
  return (
    <>
      <Stamp preview={preview} asked={asked} />
      <Totals preview={preview} names={names} />
      <p className="preview__as-of">
        <span>
          {periodText(preview.period.start_at, preview.period.end_at)}, usage as of{' '}
          <Instant at={preview.usage_as_of} />
        </span>
        <CopyLink preview={preview} asked={asked} />
        <button type="button" className="copy" onClick={() => window.print()}>
          Print
        </button>
      </p>
      <CompareWith preview={preview} asked={asked} />
      {preview.difference !== undefined && <Differences {...notes} difference={preview.difference} />}
      <Warnings {...notes} />
      {preview.lines.length === 0 ? (
        <Empty>
          <p>
            <strong>No line has an amount.</strong> Nothing was used that this contract charges, and it has no
            fixed charge in this period. Usage before it started, <Instant at={contract.starts_at} />, costs
            nothing.
          </p>
        </Empty>
      ) : (
        <InvoiceLines {...notes} />
      )}
      <NotRated {...notes} />
      <Credits {...notes} />
      {preview.difference !== undefined && <EventDifferences {...notes} difference={preview.difference} />}
    </>
  )
}

function Totals({ preview, names }: Pick<PreviewBodyProps, 'preview' | 'names'>) {
  const {
    currency,
    subtotal,
    minimum_adjustment: adjustment,
    total,
    credit_total: credit,
    difference,
  } = preview
  const places = names.places(currency)
  const hasMinimum = !isZero(adjustment)
  const rows = [
    ...(hasMinimum ? ([['Lines', subtotal, difference?.subtotal]] as const) : []),
    ...(hasMinimum ? ([['To the minimum', adjustment, difference?.minimum_adjustment]] as const) : []),
    ['Total', total, difference?.total],
    ['Credit', credit, difference?.credit_total],
    ['Due', preview.amount_due, difference?.amount_due],
  ] as const
  return (
    <dl className="totals">
      {rows.map(([name, value, change]) => (
        <div key={name} className={name === 'Due' ? 'totals__one totals__one--due' : 'totals__one'}>
          <dt>{name}</dt>
          <dd>
            <Money value={value} currency={currency} places={places ?? null} />
            {change !== undefined && <Change value={change.difference} places={places ?? null} />}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const AGO = [
  { days: 1, label: 'a day before' },
  { days: 7, label: '7 days before' },
  { days: 30, label: '30 days before' },
]

/** Asks what changed since some time before, in the period that is shown. */
function CompareWith({ preview, asked }: Pick<PreviewBodyProps, 'preview' | 'asked'>) {
  const [, change] = useUrlQuery()
  const at = instantParameter(preview.period.start_at)
  return (
    <p className="preview__as-of preview__compare">
      <span className="soft">What changed since</span>
      {AGO.map(({ days, label }) => (
        <button
          key={days}
          type="button"
          className="copy"
          onClick={() => change({ at, since: instantParameter(preview.usage_as_of - days * DAY_S) })}
        >
          {label}
        </button>
      ))}
      {asked.since !== undefined && (
        <button type="button" className="copy" onClick={() => change({ since: undefined })}>
          Do not compare
        </button>
      )}
    </p>
  )
}

/** The address of this very answer. It fixes what was known, so that it shows the same for good. */
function CopyLink({ preview, asked }: Pick<PreviewBodyProps, 'preview' | 'asked'>) {
  const { origin } = useClient()
  const isMoved = useIsClockMoved()
  const asOf = asked.asOf ?? (isMoved ? preview.as_of : undefined)
  const path = pathOf(
    'preview',
    { contractId: preview.contract_id },
    {
      at: instantParameter(preview.period.start_at),
      as_of: asOf === undefined ? undefined : instantParameter(asOf),
      known_at: instantParameter(preview.usage_as_of),
      since: asked.since === undefined ? undefined : instantParameter(asked.since),
    },
  )
  return (
    <CopyButton
      text={origin + BASE + path}
      label="Copy a link to what is known now, which always shows the same"
    >
      Copy link
    </CopyButton>
  )
}

/** Says that the answer is not the present one. It is printed as well. */
function Stamp({ preview, asked: { knownAt, asOf } }: Pick<PreviewBodyProps, 'preview' | 'asked'>) {
  const [, change] = useUrlQuery()
  if (knownAt === undefined) return null
  const isOver = preview.period.end_at <= preview.usage_as_of
  return (
    <div className="stamp">
      <Notice tone="warn">
        <span>
          <strong>
            As it was known at <Instant at={knownAt} />
          </strong>
          {asOf !== undefined && (
            <>
              , with usage from before <Instant at={asOf} />
            </>
          )}
          .{' '}
          {isOver
            ? 'What came later is not in it, so it stays as it is.'
            : 'The period had not ended by then.'}
        </span>
        <span className="row-actions">
          <button
            type="button"
            className="button"
            onClick={() =>
              change({
                at: instantParameter(preview.period.start_at),
                known_at: undefined,
                since: instantParameter(knownAt),
              })
            }
          >
            What came since?
          </button>
          <button
            type="button"
            className="button"
            onClick={() =>
              change({ at: instantParameter(preview.period.start_at), known_at: undefined, as_of: undefined })
            }
          >
            As it is now
          </button>
        </span>
      </Notice>
    </div>
  )
}
