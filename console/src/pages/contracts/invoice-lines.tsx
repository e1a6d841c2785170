import { Money } from '../../parts/decimal.tsx'
import { Fraction } from '../../parts/fraction.tsx'
import { Counted } from './counted.tsx'
import { Change } from './differences.tsx'
import { keyOf } from './invoice-line.ts'
import { LineName } from './line-name.tsx'
import { LineSteps } from './line-steps.tsx'
import type { NotesProps } from './preview-notes.tsx'

/** The lines of an invoice. Each opens into how its amount came about. */
export function InvoiceLines({ preview, lines, names }: NotesProps) {
  const changes = new Map(preview.difference?.lines.map((line) => [keyOf(line), line.amount]))
  const places = names.places(preview.currency) ?? null
  return (
    <section>
      <h3 className="preview__heading">Lines</h3>
      <ul className="invoice" aria-label="Lines of the invoice">
        {preview.lines.map((line) => {
          const change = changes.get(keyOf(line))
          return (
            <li key={keyOf(line)}>
              <details className="invoice__line">
                <summary className="invoice__head">
                  <LineName line={line} lines={lines} names={names} />
                  <span className="invoice__how">
                    <Counted line={line} names={names} /> → <Fraction value={line.exact_amount} />
                  </span>
                  <span className="invoice__amount">
                    <Money value={line.amount} currency={preview.currency} places={places} />
                    {change !== undefined && <Change value={change.difference} places={places} />}
                  </span>
                </summary>
                <LineSteps line={line} preview={preview} names={names} />
              </details>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
