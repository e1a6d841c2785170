import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { simulatedAccounts, type SimulationQuestion } from '../../api/queries/prices.ts'
import { walk } from '../../api/walk.ts'
import { utcDay } from '../../format/time.ts'
import { downloadCsv } from '../../parts/download.ts'
import { useWork, Work } from '../../parts/work.tsx'
import { HistogramPlot } from '../../plots/histogram-plot.tsx'
import { binsOf } from '../../plots/prepare/histogram.ts'
import { useSides } from './sides.ts'

type Account = Schema<'SimulatedAccount'>

interface AllSimulatedProps {
  question: SimulationQuestion
  currency: string
  count: number
}

/** Reads all accounts page by page, and then shows how their differences are distributed. */
export function AllSimulated({ question, currency, count }: AllSimulatedProps) {
  const client = useClient()
  const [accounts, setAccounts] = useState<readonly Account[]>()
  const work = useWork(async (signal, onCount) => {
    const all = await walk(simulatedAccounts(client, question), { signal, onCount })
    signal.throwIfAborted()
    setAccounts(all)
  })
  return (
    <>
      <h3>All accounts</h3>
      {accounts === undefined && !work.isRunning && (
        <p>
          <button type="button" className="button" onClick={() => work.start()}>
            All accounts
          </button>{' '}
          <span className="soft">reads each of them, a hundred at a time.</span>
        </p>
      )}
      <Work work={work} doing="Reading all accounts:" counted={`of ${count}`} />
      {accounts !== undefined && <Distribution accounts={accounts} question={question} currency={currency} />}
    </>
  )
}

interface DistributionProps extends Pick<AllSimulatedProps, 'question' | 'currency'> {
  accounts: readonly Account[]
}

function Distribution({ accounts, question, currency }: DistributionProps) {
  const sides = useSides(question.body)
  const inCurrency = (heading: string) => `${heading}, ${currency}`
  return (
    <>
      <HistogramPlot
        caption={`Accounts by difference in ${currency}`}
        counted="Accounts"
        bins={binsOf(accounts.map(({ difference }) => difference))}
      />
      <p>
        <button
          type="button"
          className="button"
          onClick={() => {
            downloadCsv(fileNameOf(question), [
              ['account id', ...[sides.baseline, sides.candidate, 'difference'].map(inCurrency)],
              ...accounts.map(({ account_id: id, baseline, candidate, difference }) => [
                id,
                { number: baseline },
                { number: candidate },
                { number: difference },
              ]),
            ])
          }}
        >
          CSV of {accounts.length} accounts
        </button>
      </p>
    </>
  )
}

/** Names the card, the other side and the days. */
const fileNameOf = ({ cardId, body: { against, start_at: from, end_at: to } }: SimulationQuestion): string =>
  `simulation-${cardId}-against-${against ?? 'contracts'}-${utcDay(from)}-to-${utcDay(to - 1)}.csv`
