import { parseAmount } from '../../shared/amount/amount.ts'
import { creditsDue, type DueCredit } from '../../shared/domain/billing/contract-credits.ts'
import { newId } from '../../shared/domain/ids.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import { contractCreditRepository, type DueLine } from '../../shared/postgres/contract-credits.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { grantRepository, type NewGrant } from '../../shared/postgres/grants.ts'
import type { RefillPoint } from './crash-points.ts'
import type { NowOf } from './refill-balances.ts'
import type { RefillMetrics } from './refill-metrics.ts'

export interface GiveContractCreditsDeps {
  pool: Pool
  nowOf: NowOf
  metrics: Pick<RefillMetrics, 'credited'>
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<RefillPoint>
}

/** @param only the namespaces in which credit is given; undefined means those of all companies */
export type GiveContractCredits = (
  only: ReadonlySet<string> | undefined,
  signal: AbortSignal,
) => Promise<void>

/** The maximum number of lines per transaction. Nobody can change their contracts while it runs. */
const LINES_AT_ONCE = 200
/** The maximum number of grants per transaction. Other transactions that make grants in the namespace wait for it. */
const GRANTS_AT_ONCE = 500

/**
 * Gives the due credit of contracts, namespace by namespace, until no credit is due. Each line gives one grant a
 * period. The grant is effective from the beginning of the line's part of the period, even if it is made later.
 *
 * One transaction gives the credit of some lines. It locks their contracts, reads the terms, inserts a unique key for
 * each grant, makes the grants, and stores the time of each line's next credit. So a cancellation before the lock
 * prevents the grant, and a later one does not remove it. After a crash, either all of this is stored or nothing.
 *
 * Archived accounts and metrics get credit, too, because usage and the contract continue.
 *
 * @throws when something failed in a namespace, after all other namespaces were done
 */
export function giveContractCredits(deps: GiveContractCreditsDeps): GiveContractCredits {
  const { pool, log } = deps
  return async (only, signal) => {
    let failure: Error | undefined
    for (const { namespaceId } of await companyRepository(pool).list()) {
      if (only?.has(namespaceId) === false) continue
      try {
        while (!signal.aborted && (await giveSome(deps, namespaceId)));
      } catch (err) {
        failure ??= err instanceof Error ? err : new Error(String(err))
        log.debug({ err: loggableError(err), namespaceId }, 'could not give credit of contracts')
      }
    }
    if (failure !== undefined) throw failure
  }
}

/** A grant to be made, and its contract line. */
interface Credit extends DueCredit {
  line: DueLine
  grantId: string
}

/** @returns whether any credit was due. Then more may still be due */
async function giveSome(deps: GiveContractCreditsDeps, namespaceId: string): Promise<boolean> {
  const { pool, nowOf, metrics, log, reached = () => undefined } = deps
  const given = await inNamespace(pool, namespaceId, async (db) => {
    const credits = contractCreditRepository(db)
    const now = Math.floor((await nowOf(db, namespaceId)).getTime() / 1_000)
    const due = dueOf(await credits.lockDue(namespaceId, now, LINES_AT_ONCE), now)
    if (due.length === 0) return undefined
    reached('credit-locked')
    const keys = due.map(({ line, periodStartAt, grantId }) => ({ lineId: line.id, periodStartAt, grantId }))
    const claimed = await credits.claim(namespaceId, keys)
    reached('credit-claimed')
    const toMake = due.filter(({ grantId }) => claimed.has(grantId))
    await grantRepository(db).insertAll(namespaceId, toMake.map(grantOf))
    reached('credit-granted')
    await credits.moveOn(namespaceId, new Map(due.map(({ line, periodEndAt }) => [line.id, periodEndAt])))
    reached('credit-recorded')
    return toMake.length
  })
  if (given === undefined) return false
  reached('credit-committed')
  metrics.credited(given)
  log.info({ namespaceId, count: given }, 'gave credit of contracts')
  return true
}

/** The credit that is due now, at most GRANTS_AT_ONCE grants, with the oldest first. */
function dueOf(lines: readonly DueLine[], now: number): Credit[] {
  const due = lines.flatMap((line) => {
    const { times, nextCreditAt, endsAt, amount, expires } = line
    const rest = { startsAt: nextCreditAt, endsAt, amount, expires }
    return creditsDue(times, rest, now, { atMost: GRANTS_AT_ONCE }).map((credit) => ({
      ...credit,
      line,
      grantId: newId('grant'),
    }))
  })
  return due.toSorted((a, b) => a.effectiveAt - b.effectiveAt).slice(0, GRANTS_AT_ONCE)
}

const grantOf = ({ line, grantId, amount, effectiveAt, expiresAt, ...period }: Credit): NewGrant => ({
  id: grantId,
  accountId: line.accountId,
  source: line.source,
  amount: parseAmount(amount),
  description: `Credit of contract ${line.contractId} for the period from ${textOf(period.periodStartAt)} to ${textOf(period.periodEndAt)}.`,
  contractId: line.contractId,
  effectiveAt: new Date(effectiveAt * 1_000),
  expiresAt: expiresAt === null ? null : new Date(expiresAt * 1_000),
})

/** A second as text, such as 2026-02-01T00:00:00Z. */
const textOf = (second: number): string => new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
