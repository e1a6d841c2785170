import type { Resources } from '../../resources.gen.ts'
import type { Account, BalanceKey, Reference } from './kept-accounts.ts'

/** Reads balances of Tally, and looks up names once. @returns the balance as text */
export function balanceReader(
  tally: Pick<Resources, 'accounts' | 'metrics'>,
  timeoutMs: number | undefined,
): (key: BalanceKey, account: Account) => Promise<string> {
  const metricIds = new Map<string, Promise<string>>()
  const readMetric = (metric: Reference): string | Promise<string> =>
    typeof metric === 'string'
      ? metric
      : remembered(metricIds, metric.externalId, async () => {
          const { id } = await tally.metrics.getByExternalId(metric.externalId, { timeoutMs })
          return id
        })
  const readAccount = async (reference: Reference, account: Account): Promise<string> => {
    if (typeof reference === 'string') return reference
    account.id ??= (await tally.accounts.getByExternalId(reference.externalId, { timeoutMs })).id
    return account.id
  }
  return async ({ account, metric, currency }, kept) => {
    const query = metric === undefined ? { currency } : { metric_id: await readMetric(metric) }
    const { balance } = await tally.accounts.balance(await readAccount(account, kept), query, { timeoutMs })
    return balance
  }
}

/** Calls a function once for each name, and again when it failed. */
function remembered(
  made: Map<string, Promise<string>>,
  name: string,
  make: () => Promise<string>,
): Promise<string> {
  const earlier = made.get(name)
  if (earlier !== undefined) return earlier
  const promise = make()
  made.set(name, promise)
  promise.catch(() => made.delete(name))
  return promise
}
