import { setTimeout as sleep } from 'node:timers/promises'
import { textOf, unitsOf } from '../test/support/decimal-units.ts'
import type { TallyClient } from './tally-client.ts'
import type { UsageBody } from './usage-bodies.ts'

/** The usage that balances must show. */
export interface ExpectedUsage {
  /**
   * Adds acknowledged usage.
   * @param ofBody how often each body was acknowledged
   */
  add(bodies: readonly UsageBody[], ofBody: readonly number[]): void
  /**
   * Waits until every balance shows exactly that usage.
   *
   * @returns the number of balances
   * @throws Error when a balance shows more usage, or does not show all of it in time
   */
  requireExact(client: TallyClient, timeoutMs: number): Promise<number>
}

interface BalanceBody {
  account_id: string
  metric_id: string | null
  usage_total: string
}

const ACCOUNTS_AT_ONCE = 100
const PAUSE_MS = 500

export function expectedUsage(): ExpectedUsage {
  const totals = new Map<string, Map<string, bigint>>()
  const add = (account: string, metric: string, units: bigint) => {
    const ofAccount = totals.get(account) ?? new Map<string, bigint>()
    totals.set(account, ofAccount.set(metric, (ofAccount.get(metric) ?? 0n) + units))
  }
  const readUsage = async (client: TallyClient): Promise<Map<string, string>> => {
    const shown = new Map<string, string>()
    const accounts = [...totals.keys()]
    for (let start = 0; start < accounts.length; start += ACCOUNTS_AT_ONCE) {
      const ids = accounts.slice(start, start + ACCOUNTS_AT_ONCE).join(',')
      const { data } = await client.get<{ data: BalanceBody[] }>(`/v2/accounts/balances?account_ids=${ids}`)
      for (const balance of data)
        shown.set(`${balance.account_id} ${balance.metric_id ?? ''}`, balance.usage_total)
    }
    return shown
  }
  const findBehind = async (client: TallyClient): Promise<string | undefined> => {
    const shown = await readUsage(client)
    let behind: string | undefined
    for (const [account, ofAccount] of totals)
      for (const [metric, expected] of ofAccount) {
        const total = shown.get(`${account} ${metric}`) ?? '0'
        const words = `${account} used ${total} of ${metric}, acknowledged were ${textOf(expected)}`
        if (unitsOf(total) > expected) throw new Error(`usage counts twice: ${words}`)
        if (unitsOf(total) < expected) behind ??= words
      }
    return behind
  }
  return {
    add(bodies, ofBody) {
      for (const [index, { events }] of bodies.entries())
        for (const { account_id: account, metric_id: metric, quantity } of events)
          add(account, metric, unitsOf(quantity) * BigInt(ofBody[index] ?? 0))
    },
    async requireExact(client, timeoutMs) {
      const deadline = performance.now() + timeoutMs
      for (;;) {
        const behind = await findBehind(client)
        if (behind === undefined)
          return [...totals.values()].reduce((sum, ofAccount) => sum + ofAccount.size, 0)
        if (performance.now() > deadline) throw new Error(`usage is missing: ${behind}`)
        await sleep(PAUSE_MS)
      }
    },
  }
}
