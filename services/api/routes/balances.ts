import type { RequestHandler } from 'express'
import { callerOf } from '../../../shared/http/authentication.ts'
import type { BalancesOf } from '../balances-of.ts'
import { nowOf } from '../../../shared/http/enter-world.ts'
import { balanceToBody } from './bodies.ts'

export function getBalances(balancesOf: BalancesOf): RequestHandler {
  return async (req, res) => {
    // The validator has taken the list apart.
    const { account_ids: accountIds } = req.query as unknown as { account_ids: string[] }
    const balances = await balancesOf(callerOf(res).namespaceId, accountIds, nowOf(res))
    res.json({ data: balances.map(balanceToBody) })
  }
}
