import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { useNow } from '../../app/now.ts'
import { curlOf } from '../../format/curl.ts'
import { periodStarts } from '../../format/period.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Numbers } from '../../parts/decimal.tsx'
import { Instant } from '../../parts/instant.tsx'
import { priceWords } from '../../parts/price-words.ts'
import { Empty } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Name, Text } from '../../parts/text.tsx'
import type { TimelineInput } from '../../plots/prepare/timeline.ts'
import { TimelinePlot } from '../../plots/timeline-plot.tsx'
import { endOf } from './contract-end.ts'
import { lineWords, timeWords } from './line-words.ts'
import type { Names } from './names.ts'

type Contract = Schema<'Contract'>
type ContractLine = Schema<'ContractLine'>

interface ContractLinesProps {
  contract: Contract
  lines: readonly ContractLine[]
  names: Names
}

/** All lines that a contract ever had: as bars on a line of time, and in words. */
export function ContractLines({ contract, lines, names }: ContractLinesProps) {
  const now = useNow()
  const kept = lines.filter(({ starts_at: from, ends_at: to }) => from !== to)
  if (lines.length === 0)
    return (
      <>
        <Empty>
          <p>
            <strong>It has no line,</strong> so nothing is charged.
          </p>
        </Empty>
        <HowToChange contract={contract} line={undefined} />
      </>
    )
  const columns = columnsOf(contract, names)
  return (
    <>
      <TimelinePlot
        caption="Lines of the contract"
        input={inputOf(contract, kept, names, now)}
        say={(row) => <Said line={kept[row]} contract={contract} names={names} />}
        table={{ columns: timeColumns(contract, names), rows: kept, keyOf: ({ id }) => id }}
      />
      <DataTable caption="Lines in words" columns={columns} rows={lines} keyOf={({ id }) => id} />
      <HowToChange contract={contract} line={kept.findLast(({ ends_at: at }) => at === null)} />
    </>
  )
}

function Said({
  line,
  contract,
  names,
}: {
  line: ContractLine | undefined
  contract: Contract
  names: Names
}) {
  if (line === undefined) return null
  return (
    <>
      <strong>{lineWords(line, contract.currency, names)}</strong> {timeWords(line)}
    </>
  )
}

function inputOf(
  contract: Contract,
  lines: readonly ContractLine[],
  names: Names,
  now: number,
): TimelineInput {
  const { starts_at: startsAt, ends_at: endsAt, cancellation } = contract
  const end = endOf(contract)
  const last = Math.max(now, end ?? 0, ...lines.map(({ ends_at: at }) => at ?? 0))
  return {
    rows: lines.map((line) => ({
      name: lineWords(line, contract.currency, names),
      bars: [
        { from: line.starts_at, to: end === null ? line.ends_at : Math.min(line.ends_at ?? Infinity, end) },
      ],
    })),
    periods: periodStarts(contract.cadence, contract.anchor_at, startsAt, last),
    marks: [
      { at: now, label: 'now' },
      ...(cancellation === null ? [] : [{ at: cancellation.cancel_at, label: 'canceled' }]),
      ...(endsAt === null || cancellation !== null ? [] : [{ at: endsAt, label: 'end' }]),
    ],
  }
}

const columnsOf = ({ currency }: Contract, names: Names): Column<ContractLine>[] => [
  {
    heading: 'Line',
    cell: (line) => (
      <>
        <Name>{lineWords(line, currency, names)}</Name>
        {line.description !== undefined && (
          <div className="soft">
            <Text>{line.description}</Text>
          </div>
        )}
        <OwnPrices line={line} names={names} />
      </>
    ),
  },
  { heading: 'In force', cell: (line) => timeWords(line) },
]

const timeColumns = ({ currency }: Contract, names: Names): Column<ContractLine>[] => [
  { heading: 'Line', cell: (line) => <Name>{lineWords(line, currency, names)}</Name> },
  { heading: 'Kind', cell: (line) => kindOf(line) },
  { heading: 'From', cell: ({ starts_at: at }) => <Instant at={at} /> },
  { heading: 'Until', cell: ({ ends_at: at }) => (at === null ? 'no end' : <Instant at={at} />) },
]

function kindOf({ rate_card_id: card, price_id: price, credit }: ContractLine): string {
  if (card !== undefined) return 'rate card'
  if (price !== undefined) return 'price'
  return credit === undefined ? 'minimum' : 'credit'
}

/** The prices of a line that replace those of its card. */
function OwnPrices({ line: { price_overrides: own = [] }, names }: { line: ContractLine; names: Names }) {
  if (own.length === 0) return null
  return (
    <ul className="preview__list">
      {own.map(({ product_id: product, value, price_id: id }) => {
        const price = names.price(id)
        return (
          <li key={`${product} ${JSON.stringify(value)}`}>
            <Name>{names.product(product)}</Name>
            {value !== undefined && (
              <>
                {' · '}
                <Name>{value ?? 'other values'}</Name>
              </>
            )}
            : {price === undefined ? id : <Numbers>{priceWords(price)}</Numbers>}
          </li>
        )
      })}
    </ul>
  )
}

/** Lines are changed over the API. This shows the request for it. */
function HowToChange({ contract, line }: { contract: Contract; line: ContractLine | undefined }) {
  const { origin } = useClient()
  if (contract.status === 'canceled' || contract.status === 'ended') return null
  const request = {
    method: 'POST',
    target: `/v2/contracts/${contract.id}/changes`,
    body: {
      ...(line === undefined ? {} : { end: [line.id] }),
      add: [
        line?.price_id === undefined
          ? { rate_card_id: 'rate_card_…' }
          : { price_id: line.price_id, quantity: '15' },
      ],
    },
  } as const
  return (
    <details className="how-to">
      <summary>Change its lines</summary>
      <p>
        Lines are never edited. This request ends one and adds another one, now or at its{' '}
        <code>effective_at</code>. An invoice preview with the same <code>changes</code> shows beforehand what
        they do.
      </p>
      <Snippet text={curlOf(origin, request)} label="Copy this command" />
    </details>
  )
}
