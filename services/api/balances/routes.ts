import { formatAmount } from '../../../shared/amount/amount.ts'
import type { AccountSumsReader } from '../../../shared/clickhouse/usage/account-sums.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import type { Balance } from '../../../shared/domain/balance.ts'
import { awaitAnswer } from '../../../shared/http/body-slices.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import { type Operation, operation, type SchemaOf } from '../../../shared/http/operation.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { requiredSource } from '../core/named-source.ts'
import { balanceAt } from './balance-at.ts'
import { balancesOf } from './balances-of.ts'
import { dailyBalance } from './daily-balance.ts'

/** Computing the balances of one account takes as long as writing a body of this many bytes; see awaitAnswer. */
const ACCOUNT_BYTES = 1_300

/** Operations that answer balances: grants minus usage. */
export function balanceOperations(
  pool: Pool,
  reads: BatchedReads,
  usage: Pick<AccountSumsReader, 'sumByAccount'> & UsageReader,
): Operation[] {
  const [readOne, readMany] = [balanceAt(reads, usage), balancesOf(reads, usage)]
  const readDays = dailyBalance(pool, reads, usage)
  return [
    operation('getAccountBalance', async ({ caller, params, query, clock }) => {
      const source = requiredSource(query, 'malformed')
      return balanceToBody(await readOne(caller.namespaceId, params.account_id, source, clock()))
    }),
    operation(
      'getAccountDailyBalance',
      async ({ caller, params, query, clock }) => {
        const source = requiredSource(query, 'malformed')
        const range = { startAt: query.start_at, endAt: query.end_at }
        const asked = { accountId: params.account_id, source, range, now: clock() }
        const days = await readDays(caller.namespaceId, asked)
        return {
          account_id: params.account_id,
          ...sourceToBody(source),
          data: days.map(({ startAt, ...balance }) => ({
            period_start_at: startAt,
            ...totalsToBody(balance),
          })),
        }
      },
      { isLong: 'batched' },
    ),
    operation(
      'listBalances',
      async ({ caller, query: { account_ids: accountIds }, clock, isAwaited }) => {
        const { companyId, namespaceId } = caller
        const balances = await readMany(namespaceId, accountIds, clock(), () =>
          awaitAnswer(accountIds.length * ACCOUNT_BYTES, isAwaited, companyId),
        )
        return { data: balances.map(balanceToBody) }
      },
      { isLong: 'batched' },
    ),
  ]
}

const balanceToBody = (balance: Balance): SchemaOf<'Balance'> => ({
  account_id: balance.accountId,
  ...sourceToBody(balance.source),
  ...totalsToBody(balance),
})

const totalsToBody = (balance: Balance) => ({
  grant_total: formatAmount(balance.grantTotal),
  usage_total: formatAmount(balance.usageTotal),
  balance: formatAmount(balance.balance),
})
