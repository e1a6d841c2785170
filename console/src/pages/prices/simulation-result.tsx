import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import type { SimulationBody, SimulationQuestion } from '../../api/queries/prices.ts'
import { Link } from '../../app/link.tsx'
import { percentText } from '../../format/fraction.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Decimal, Money } from '../../parts/decimal.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Name } from '../../parts/text.tsx'
import { SpreadPlot } from '../../plots/spread-plot.tsx'
import { AllSimulated } from './all-simulated.tsx'
import { LinesDialog } from './lines-dialog.tsx'
import { type Sides, useSides } from './sides.ts'
import { CADENCES, cadenceWords } from './words.ts'

type Simulation = Schema<'Simulation'>
type Totals = Schema<'SimulationTotals'>
type Account = Schema<'SimulatedAccount'>

interface ResultProps {
  question: SimulationQuestion
  simulation: Simulation
}

/** The answer of a simulation: totals, how many pay more, where the differences lie, and the largest of them. */
export function Result({ question, simulation }: ResultProps) {
  const [open, setOpen] = useState<string>()
  const sides = useSides(question.body)
  const { totals, currency } = simulation
  if (totals === undefined) return null
  if (totals.accounts === 0)
    return (
      <Empty>
        <p>
          <strong>No account to compare.</strong> None had usage in these days, and none followed a card in{' '}
          {currency}. Choose other days.
        </p>
        <Usage body={question.body} asOf={simulation.usage_as_of} />
        <LeftOut totals={totals} />
      </Empty>
    )
  return (
    <>
      <Sums totals={totals} currency={currency} sides={sides} />
      <Usage body={question.body} asOf={simulation.usage_as_of} />
      <LeftOut totals={totals} />
      <Changed totals={totals} />
      <Spread totals={totals} currency={currency} />
      <Largest totals={totals} currency={currency} sides={sides} onOpen={setOpen} />
      <AllSimulated question={question} currency={currency} count={totals.accounts} />
      {open !== undefined && (
        <LinesDialog question={question} accountId={open} onClose={() => setOpen(undefined)} />
      )}
    </>
  )
}

/** Which usage was rated. The range of the address may be longer: it is read up to the second of the question. */
function Usage({ body, asOf }: { body: SimulationBody; asOf: number }) {
  const cadence = CADENCES.find((known) => known === body.cadence)
  return (
    <p className="soft">
      Usage from <Instant at={body.start_at} /> to <Instant at={body.end_at} />
      {cadence === undefined ? ', as one period' : `, each ${cadenceWords(cadence)}`}, as far as it was
      accepted before <Instant at={asOf} />.
    </p>
  )
}

function LeftOut({ totals: { in_other_currencies: count } }: { totals: Totals }) {
  if (count === 0) return null
  return (
    <p className="soft">
      Left out, as {count === 1 ? 'it follows' : 'they follow'} a card in another currency: {count}{' '}
      {count === 1 ? 'account' : 'accounts'}.
    </p>
  )
}

function Sums({ totals, currency, sides }: { totals: Totals; currency: string; sides: Sides }) {
  const { accounts, baseline, candidate } = totals
  return (
    <dl className="figures">
      <div>
        <dt>Accounts</dt>
        <dd>
          <Decimal value={accounts.toString()} />
        </dd>
      </div>
      <div>
        <dt>{sides.baseline}</dt>
        <dd>
          <Money value={baseline} currency={currency} />
        </dd>
      </div>
      <div>
        <dt>{sides.candidate}</dt>
        <dd>
          <Money value={candidate} currency={currency} />
        </dd>
      </div>
      <div>
        <dt>Difference</dt>
        <dd>
          <Difference of={totals} currency={currency} />
        </dd>
      </div>
    </dl>
  )
}

/** A difference with its sign, and its part of the other side, to a tenth of a percent. */
function Difference({
  of: { difference, baseline },
  currency,
}: {
  of: { difference: string; baseline: string }
  currency: string
}) {
  const percent = percentText(difference, baseline)
  return (
    <>
      {signOf(difference)}
      <Money value={difference} currency={currency} />
      {percent !== undefined && (
        <span className="soft">
          {' '}
          {signOf(percent)}
          {percent} %
        </span>
      )}
    </>
  )
}

const signOf = (text: string): string => (text.startsWith('-') || text === '0' ? '' : '+')

interface Share {
  name: string
  count: number
  className: string
}

function Changed({ totals: { accounts, increased, decreased, unchanged } }: { totals: Totals }) {
  const shares: Share[] = [
    { name: 'Pay more', count: increased, className: 'plot__bar--2' },
    { name: 'Pay less', count: decreased, className: 'plot__bar--3' },
    { name: 'Pay the same', count: unchanged, className: 'plot__bar--rest' },
  ]
  return (
    <>
      <h3>How many pay more</h3>
      <svg
        className="split"
        viewBox={`0 0 ${accounts} 1`}
        preserveAspectRatio="none"
        role="img"
        aria-label={shares.map(({ name, count }) => `${name}: ${count}`).join(', ')}
      >
        {shares.map(({ name, count, className }, index) => (
          <rect
            key={name}
            className={className}
            x={shares.slice(0, index).reduce((sum, share) => sum + share.count, 0)}
            width={count}
            height={1}
          />
        ))}
      </svg>
      <DataTable
        caption="How many accounts pay more"
        columns={sharesOf(accounts)}
        rows={shares}
        keyOf={({ name }) => name}
      />
    </>
  )
}

const sharesOf = (accounts: number): Column<Share>[] => [
  {
    heading: 'Accounts that',
    cell: ({ name, className }) => (
      <>
        <svg className="swatch" viewBox="0 0 1 1" aria-hidden="true">
          <rect className={className} width="1" height="1" />
        </svg>{' '}
        {name}
      </>
    ),
  },
  { heading: 'How many', isNumber: true, cell: ({ count }) => <Decimal value={count.toString()} /> },
  {
    heading: 'Part',
    isNumber: true,
    cell: ({ count }) => `${percentText(count.toString(), accounts.toString()) ?? '0'} %`,
  },
]

const QUANTILES = [
  { name: 'p5', label: '5 %' },
  { name: 'p25', label: '25 %' },
  { name: 'p50', label: 'half' },
  { name: 'p75', label: '75 %' },
  { name: 'p95', label: '95 %' },
] as const

function Spread({ totals: { quantiles }, currency }: { totals: Totals; currency: string }) {
  return (
    <>
      <h3>Where the differences lie</h3>
      <SpreadPlot
        label={`Differences in ${currency}: 5 % of accounts have ${quantiles.p5} or less, half ${quantiles.p50} or less, 95 % ${quantiles.p95} or less`}
        input={quantiles}
      />
      <DataTable
        caption="Differences of accounts"
        columns={[
          { heading: 'So many accounts', cell: ({ label }) => label },
          {
            heading: 'have this difference, or a lower one',
            isNumber: true,
            numberOf: ({ name }) => quantiles[name],
            cell: ({ name }) => (
              <>
                {signOf(quantiles[name])}
                <Money value={quantiles[name]} currency={currency} />
              </>
            ),
          },
        ]}
        rows={QUANTILES}
        keyOf={({ name }) => name}
      />
    </>
  )
}

interface LargestProps {
  totals: Totals
  currency: string
  sides: Sides
  onOpen: (accountId: string) => void
}

function Largest({ totals: { largest }, currency, sides, onOpen }: LargestProps) {
  const shown = [...largest.increases, ...largest.decreases]
  const nameOf = useAccountNames(shown.map(({ account_id: id }) => id))
  const columns = columnsOf(currency, sides, nameOf, onOpen)
  const directions = [
    { heading: 'Who would pay most more', rows: largest.increases },
    { heading: 'Who would pay most less', rows: largest.decreases },
  ]
  return directions.map(({ heading, rows }) =>
    rows.length === 0 ? null : (
      <div key={heading}>
        <h3>{heading}</h3>
        <DataTable caption={heading} columns={columns} rows={rows} keyOf={({ account_id: id }) => id} />
      </div>
    ),
  )
}

const columnsOf = (
  currency: string,
  sides: Sides,
  nameOf: (accountId: string) => string,
  onOpen: (accountId: string) => void,
): Column<Account>[] => [
  {
    heading: 'Account',
    cell: ({ account_id: id }) => (
      <Link to="account" parameters={{ accountId: id }}>
        <Name>{nameOf(id)}</Name>
      </Link>
    ),
  },
  {
    heading: sides.baseline,
    isNumber: true,
    numberOf: ({ baseline }) => baseline,
    cell: ({ baseline }) => <Money value={baseline} currency={currency} />,
  },
  {
    heading: sides.candidate,
    isNumber: true,
    numberOf: ({ candidate }) => candidate,
    cell: ({ candidate }) => <Money value={candidate} currency={currency} />,
  },
  {
    heading: 'Difference',
    isNumber: true,
    cell: (account) => <Difference of={account} currency={currency} />,
  },
  {
    heading: 'How',
    cell: ({ account_id: id }) => (
      <button type="button" className="button button--small" onClick={() => onOpen(id)}>
        Lines
      </button>
    ),
  },
]
