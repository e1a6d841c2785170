import { ApiClient } from '../support/api-client.ts'
import { SEED, tell } from '../support/fault-seed.ts'
import { findFreePort } from '../support/free-port.ts'
import { type RunningTally, startTally } from '../support/start-tally.ts'
import { until } from '../support/until.ts'
import type { Checked } from './check-ledger.ts'
import { makeAccounts } from './fault-stage.ts'
import { Ledger, type LedgerOptions } from './ledger.ts'

/** A Tally in one process with separate databases, and reporters with a ledger. */
export interface TallyStage extends Checked {
  readonly tally: RunningTally
  readonly api: ApiClient
  /** The value of a metric without labels. */
  metric(series: string): Promise<number>
  isReady(): Promise<boolean>
  /** Starts Tally again after any kind of end. */
  restart(env?: Record<string, string>): Promise<void>
}

export interface TallyStageOptions {
  dataFolder: string
  env?: Record<string, string>
  load?: Partial<LedgerOptions>
}

/** @param purpose the name of the load */
export async function startTallyStage(
  purpose: string,
  { dataFolder, env = {}, load = {} }: TallyStageOptions,
): Promise<TallyStage> {
  tell(`seed ${SEED}, FAULT_SEED=${SEED} runs it again`)
  const adminPort = await findFreePort()
  const start = (further: Record<string, string> = {}) =>
    startTally({ dataFolder, env: { ...env, ADMIN_PORT: String(adminPort), ...further } })
  let tally = await start()
  let api = new ApiClient(tally.url, tally.key)
  const { accounts, sources } = await makeAccounts(api)
  const ledger = new Ledger({
    url: () => tally.url,
    key: tally.key,
    accounts,
    sources,
    seed: `${purpose} ${SEED}`,
    workers: 4,
    batchMax: 20,
    pauseMs: 30,
    ...load,
  })
  const admin = (path: string) => fetch(`http://127.0.0.1:${adminPort}${path}`)
  const metric = async (series: string) => {
    const lines = (await (await admin('/metrics')).text()).split('\n')
    return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1))
  }
  return {
    get tally() {
      return tally
    },
    get api() {
      return api
    },
    ledger,
    accounts,
    commandEnv: { DATA_DIR: dataFolder },
    metric,
    isReady: async () => (await admin('/readyz')).status === 200,
    async drained(withinMs = 60_000) {
      const startedAt = performance.now()
      await until(async () => (await metric('tally_event_log_unread_records')) === 0, withinMs)
      return performance.now() - startedAt
    },
    async restart(further) {
      tally = await start(further)
      api = new ApiClient(tally.url, tally.key)
    },
  }
}
