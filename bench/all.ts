import { formatEvents } from './event-number.ts'
import { describeMachine, saveResult } from './machine.ts'
import { fileBeside, runApart } from './run-apart.ts'
import { type Compared, failWhenMissed, formatCompared } from './targets.ts'

export interface BenchAllOptions {
  /** The largest data set. */
  events: number
  /** The folder that has the data sets, or gets them. */
  data: string
  save: string
  print: (line: string) => void
}

/**
 * Runs all benches one after the other, except those of concurrent balances, of rollups and of the import of history.
 * Finally it prints each figure with its floor and target. The exit code is 1 when a floor is missed.
 */
export async function benchAll({ events, data, save, print }: BenchAllOptions): Promise<void> {
  const startedAt = performance.now()
  print(describeMachine())
  const compared: Compared[] = []
  const measure = async (name: string, ...options: string[]) => {
    print(`npm run bench -- ${[name, ...options].join(' ')}`)
    const result = await runApart([name, ...options], fileBeside(save, `-${name}.json`))
    compared.push(...(result as { compared: Compared[] }).compared)
  }
  await measure('ingest')
  await measure('load', '--late', '2', '--duplicates', '5')
  await measure('freshness')
  await measure('scale', '--up-to', formatEvents(events), '--data', data)
  await measure('storage', '--events', formatEvents(events), '--data', data)
  const tookS = Math.round((performance.now() - startedAt) / 1_000)
  await saveResult(save, { bench: 'all', events, tookS, compared })
  for (const line of formatCompared(compared)) print(line)
  print(`all benches took ${tookS} s`)
  failWhenMissed(compared)
}
