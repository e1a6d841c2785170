import type { RequestHandler } from 'express'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { callerOf } from '../../../shared/http/authentication.ts'
import { awaitAnswer } from '../../../shared/http/body-slices.ts'
import { isAwaited } from '../../../shared/http/request-deadline.ts'
import { balanceAt, type BalanceAt } from './balance-at.ts'
import { balancesOf, type BalancesOf } from './balances-of.ts'
import { nowOf } from '../../../shared/http/enter-world.ts'
import type { Balance } from '../../../shared/domain/balance.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { AccountSumsReader } from '../../../shared/clickhouse/usage/account-sums.ts'
import { handlerOf, longHandlerOf } from '../core/handler-of.ts'

/** What is left: grants minus usage. */
export const balanceHandlers = (
  reads: BatchedReads,
  usage: Pick<AccountSumsReader, 'sumByAccount'>,
): Handlers => ({
  getAccountBalance: handlerOf(getAccountBalance(balanceAt(reads, usage))),
  listBalances: longHandlerOf('batched', getBalances(balancesOf(reads, usage))),
})

/** The balances of an account take as long as so much of a body, some 80 microseconds. */
const ACCOUNT_BYTES = 1_300

function getBalances(read: BalancesOf): RequestHandler {
  return async (req, res) => {
    // The validator has taken the list apart.
    const { account_ids: accountIds } = req.query as unknown as { account_ids: string[] }
    const { companyId, namespaceId } = callerOf(res)
    const balances = await read(namespaceId, accountIds, nowOf(res), () =>
      awaitAnswer(accountIds.length * ACCOUNT_BYTES, () => isAwaited(req, res), companyId),
    )
    res.json({ data: balances.map(balanceToBody) })
  }
}

function getAccountBalance(read: BalanceAt): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    const { metric_id: metricId, currency } = req.query as { metric_id?: string; currency?: string }
    if ((metricId === undefined) === (currency === undefined))
      throw new DomainError('malformed', 'metric_id, currency: exactly one of them is required')
    const source = metricId ?? currency?.toLowerCase() ?? ''
    const balance = await read(callerOf(res).namespaceId, req.params.account_id, source, nowOf(res))
    res.json(balanceToBody(balance))
  }
}

const balanceToBody = (balance: Balance) => ({
  account_id: balance.accountId,
  ...sourceToBody(balance.source),
  grant_total: formatAmount(balance.grantTotal),
  usage_total: formatAmount(balance.usageTotal),
  balance: formatAmount(balance.balance),
})
