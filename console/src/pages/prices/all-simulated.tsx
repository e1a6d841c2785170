import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { simulatedAccounts, type SimulationBody } from '../../api/queries/prices.ts'
import { walk } from '../../api/walk.ts'
import { downloadCsv } from '../../parts/download.ts'
import { useWork, Work } from '../../parts/work.tsx'
import { HistogramPlot } from '../../plots/histogram-plot.tsx'
import { binsOf } from '../../plots/prepare/histogram.ts'

type Account = Schema<'SimulatedAccount'>

interface AllSimulatedProps {
  cardId: string
  body: SimulationBody
  first: Schema<'Simulation'>
  count: number
}

/** Reads all accounts page by page, and then shows how their differences are distributed. */
export function AllSimulated({ cardId, body, first, count }: AllSimulatedProps) {
  const client = useClient()
  const [accounts, setAccounts] = useState<readonly Account[]>()
  const work = useWork(async (signal, onCount) => {
    const all = await walk(simulatedAccounts(client, cardId, body, first), { signal, onCount })
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
      {accounts !== undefined && <Distribution accounts={accounts} currency={first.currency} />}
    </>
  )
}

function Distribution({ accounts, currency }: { accounts: readonly Account[]; currency: string }) {
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
            downloadCsv('simulation.csv', [
              ['account id', `now, ${currency}`, `then, ${currency}`, `difference, ${currency}`],
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
