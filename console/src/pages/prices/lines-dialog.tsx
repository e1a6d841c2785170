import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { type SimulationQuestion, simulationReading } from '../../api/queries/prices.ts'
import { useRead } from '../../api/use-read.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Decimal, Money } from '../../parts/decimal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Fraction } from '../../parts/fraction.tsx'
import { Panel } from '../../parts/panel.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { Empty } from '../../parts/problem.tsx'
import { type Sources, useSources } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { type Catalogue, useCatalogue } from './catalogue.ts'
import { useSides } from './sides.ts'
import { usageWords } from './words.ts'

type Line = Schema<'SimulatedLine'>

interface LinesDialogProps {
  question: SimulationQuestion
  accountId: string
  onClose: () => void
}

const SIDES = ['baseline', 'candidate'] as const

/** The lines of one account on both sides. */
export function LinesDialog({ question, accountId, onClose }: LinesDialogProps) {
  const client = useClient()
  const body = { ...question.body, account_ids: [accountId], include_lines: true }
  const read = useRead(simulationReading(client, { ...question, body }))
  const sides = useSides(question.body)
  const catalogue = useCatalogue(client).data
  const sources = useSources(client).data
  return (
    <Dialog heading="Lines of this account" onClose={onClose}>
      <div className="dialog__body columns">
        {SIDES.map((side) => (
          <Panel key={side} heading={sides[side]} read={read}>
            {({ data, currency }) => {
              const lines = (data[0]?.lines ?? []).filter((line) => line.side === side)
              if (lines.length === 0) return <Empty>No line.</Empty>
              return (
                catalogue !== undefined &&
                sources !== undefined && (
                  <DataTable
                    caption={sides[side]}
                    columns={columnsOf(currency, catalogue, sources)}
                    rows={lines}
                    keyOf={(line) => `${line.rate_id} ${line.start_at} ${JSON.stringify(line.value)}`}
                  />
                )
              )
            }}
          </Panel>
        ))}
      </div>
    </Dialog>
  )
}

const columnsOf = (currency: string, catalogue: Catalogue, sources: Sources): Column<Line>[] => [
  { heading: 'Product', cell: ({ product_id: id }) => <Name>{catalogue.nameOf(id)}</Name> },
  { heading: 'Usage', cell: (line) => <Name>{usageWords(line, sources)}</Name> },
  {
    heading: 'Counted',
    isNumber: true,
    cell: ({ quantity, event_count: events }) =>
      events === null ? null : (
        <>
          <Decimal value={quantity} />{' '}
          <span className="soft">
            in {events} {events === 1 ? 'event' : 'events'}
          </span>
        </>
      ),
  },
  { heading: 'Price', cell: ({ price }) => priceWords(price) },
  {
    heading: 'Discount',
    cell: ({ discount_percent: percent }) => (percent === '0' ? null : `${percent} %`),
  },
  { heading: 'Bound', cell: ({ bound }) => bound ?? null },
  { heading: 'Exact', isNumber: true, cell: ({ exact_amount: amount }) => <Fraction value={amount} /> },
  { heading: 'Amount', isNumber: true, cell: ({ amount }) => <Money value={amount} currency={currency} /> },
]
