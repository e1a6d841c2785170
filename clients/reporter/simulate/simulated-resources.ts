import { InFlight } from '../in-flight.ts'
import { resolveSource } from '../metric-source.ts'
import type { TallyResources } from '../tally-resources.ts'
import type { SourceName } from './made-up-request.ts'

/** The accounts and metrics of a simulation in Tally. */
export interface SimulatedResources {
  accountIds: readonly string[]
  /** The id of a metric, or the code of a currency. */
  sources: Readonly<Record<SourceName, string>>
  probe: { accountId: string; metricId: string }
}

const SIDE_BY_SIDE = 8

/**
 * Finds the accounts and metrics of a simulation, and makes missing ones.
 *
 * @param run the name of a run with accounts of its own; all runs without a name share the same accounts
 */
export async function ensureSimulatedResources(
  resources: TallyResources,
  accounts: number,
  run: string | undefined,
): Promise<SimulatedResources> {
  const prefix = run === undefined ? 'simulated' : `simulated-${run}`
  const accountIds: string[] = []
  const inFlight = new InFlight(SIDE_BY_SIDE)
  for (let n = 0; n < accounts; n++)
    await inFlight.add(async () => {
      accountIds[n] = (await resources.ensureAccount(`${prefix}-${n + 1}`, `Simulated account ${n + 1}`)).id
    })
  await inFlight.settle()
  const probeAccount = await resources.ensureAccount('simulated-probe', 'Probes of simulations')
  return {
    accountIds,
    sources: {
      simulated_input_tokens: await ensureMetric(resources, 'simulated_input_tokens'),
      simulated_output_tokens: await ensureMetric(resources, 'simulated_output_tokens'),
      simulated_compute_seconds: await ensureMetric(resources, 'simulated_compute_seconds'),
      usd: 'usd',
    },
    probe: { accountId: probeAccount.id, metricId: await ensureMetric(resources, 'simulated_probe') },
  }
}

async function ensureMetric(resources: TallyResources, name: string): Promise<string> {
  const source = await resolveSource(resources, name, true)
  if ('metric_id' in source) return source.metric_id
  throw new Error(`${name} is a currency, not a metric`)
}
