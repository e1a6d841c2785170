import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import {
  type RefillConfigurationKey,
  refillConfigurationRepository,
} from '../../shared/postgres/refill-configurations.ts'
import { BALANCES_AT_ONCE, type CheckBalances } from './check-balances.ts'

/**
 * Checks all active configurations, namespace by namespace, up to BALANCES_AT_ONCE at a time.
 *
 * @param signal stops the sweep after the configurations that are being checked
 * @returns the namespaces that have active configurations
 */
export async function sweepBalances(
  pool: Pool,
  check: CheckBalances,
  signal: AbortSignal,
): Promise<Set<string>> {
  const withRefills = new Set<string>()
  for (const { namespaceId } of await companyRepository(pool).list()) {
    let after: RefillConfigurationKey | undefined
    do {
      if (signal.aborted) return withRefills
      const keys = await inNamespace(pool, namespaceId, (db) =>
        refillConfigurationRepository(db).listActiveKeys(namespaceId, after, BALANCES_AT_ONCE),
      )
      if (keys.length > 0) withRefills.add(namespaceId)
      await check(namespaceId, keys, signal)
      after = keys.length < BALANCES_AT_ONCE ? undefined : keys.at(-1)
    } while (after !== undefined)
  }
  return withRefills
}
