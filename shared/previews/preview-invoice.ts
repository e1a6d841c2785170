import type { EventDifference, KnownReads, knownUsageReader } from '../clickhouse/usage/known-usage.ts'
import type { RatedUsage, ratedUsageReader } from '../clickhouse/usage/rated-usage.ts'
import { contractKnownAt } from '../domain/billing/contract-status.ts'
import { differenceOf, type InvoiceDifference } from '../domain/billing/difference.ts'
import { currencyUsageBefore, type Invoice, invoiceOf } from '../domain/billing/invoice.ts'
import { defaultSecond, type InvoicePlan } from '../domain/billing/plan.ts'
import type { PriceRecord } from '../domain/billing/price-record.ts'
import { DomainError } from '../errors/domain-error.ts'
import { completeUpTo } from '../postgres/complete-up-to.ts'
import { contractRepository } from '../postgres/contracts.ts'
import type { Pool, PoolClient } from '../postgres/core/pool.ts'
import { inNamespace, inNamespaceUndone } from '../postgres/core/transaction.ts'
import { eventRevisionRepository } from '../postgres/event-revisions.ts'
import { type Micros, unixSeconds } from '../time/microsecond-clock.ts'
import { type CreditReadings, readAgreements, readCredit } from './read-agreements.ts'

export interface PreviewDeps {
  pool: Pool
  usage: ReturnType<typeof ratedUsageReader>
  /** Reads usage as it was known at some time. */
  knownUsage: ReturnType<typeof knownUsageReader>
  /** Returns a time. ClickHouse has all events that were accepted before this time. */
  listedUpTo: () => Promise<Micros>
}

/** Changes a contract within a transaction that is rolled back. Does nothing if the contract does not exist. */
export type WhatIf = (db: PoolClient, namespaceId: string) => Promise<void>

/** The options of a preview. Times are in Unix seconds; undefined means the default. */
interface PreviewRequest {
  contractId: string
  at: number | undefined
  asOf: number | undefined
  /** Only data that was known before this time counts; undefined if all data counts. */
  knownAt: number | undefined
  /** If set, the preview reports how the invoice changed since this time. */
  differenceSince: number | undefined
  /** Changes the contract for this preview only; undefined for the contract as it is. */
  whatIf: WhatIf | undefined
}

/** An invoice, with its plan and the stored prices of its lines. */
export interface Preview {
  invoice: Invoice
  plan: InvoicePlan
  prices: ReadonlyMap<string, PriceRecord>
  /** Whether the invoice counts only data that was known at some time. */
  isAsKnown: boolean
  difference: PreviewDifference | undefined
}

/** How the invoice changed since an earlier time. */
export interface PreviewDifference extends InvoiceDifference {
  since: number
  /** The first events that caused the difference, at most EVENTS_MAX. */
  events: EventDifference[]
  hasMore: boolean
}

export type PreviewInvoice = (
  namespaceId: string,
  request: PreviewRequest,
  now: number,
  signal: AbortSignal,
) => Promise<Preview>

const EVENTS_MAX = 100

/**
 * Previews a period of a contract: plans it, reads the data, and rates the usage. Nothing is stored. The changes of
 * `whatIf` are rolled back.
 *
 * A difference compares the data that was known at two times. So if `differenceSince` is set, the invoice counts only
 * data that was known at a fixed time, even without `knownAt`. Events that arrive during the request are left out.
 *
 * @param signal ends the wait for a permit to read usage
 * @throws DomainError unprocessable when there is no such contract, `at` lies outside it, `asOf` lies after the next
 *   second, `knownAt` or `differenceSince` lies after the time up to which everything is known, or `differenceSince`
 *   lies after `knownAt`. Errors of `whatIf` are thrown, too
 */
export function previewInvoice({ pool, usage, knownUsage, listedUpTo }: PreviewDeps): PreviewInvoice {
  return async (namespaceId, request, now, signal) => {
    const { knownAt, differenceSince } = request
    const inTransaction = request.whatIf === undefined ? inNamespace : inNamespaceUndone
    const loadedUpTo = await listedUpTo() // first, so that the reads below include all events that were accepted before
    const read = await inTransaction(pool, namespaceId, async (db) => {
      const complete = unixSeconds(await completeUpTo(db, namespaceId, loadedUpTo))
      requireComplete(request, complete, now)
      await request.whatIf?.(db, namespaceId)
      return readForPreview(db, namespaceId, request, knownAt ?? complete, now)
    })
    const { plan, prices, usageAsOf } = read
    const invoice = (measured: RatedUsage, credit: CreditReadings): Invoice =>
      invoiceOf(plan, prices, { ...measured, ...credit, usageAsOf }, knownAt ?? now)
    if (knownAt === undefined && differenceSince === undefined) {
      const creditBefore = currencyUsageBefore(plan, read.credit)
      const measured = await usage.read(namespaceId, { ...plan, creditBefore }, signal)
      return {
        invoice: invoice(measured, read.credit),
        plan,
        prices,
        isAsKnown: false,
        difference: undefined,
      }
    }
    const eventsBefore = (ids: readonly string[], before: Micros) =>
      inNamespace(pool, namespaceId, (db) => eventRevisionRepository(db).listBefore(namespaceId, ids, before))
    const work = async (reads: KnownReads) => {
      const made = invoice(await reads.usageBefore(usageAsOf), read.credit)
      const answer = { invoice: made, plan, prices, isAsKnown: true }
      if (differenceSince === undefined || read.creditThen === undefined)
        return { ...answer, difference: undefined }
      const then = invoice(await reads.usageBefore(differenceSince), read.creditThen)
      const events = await reads.differencesBetween(differenceSince, usageAsOf, EVENTS_MAX + 1)
      const difference = {
        ...differenceOf(plan, then, made),
        since: differenceSince,
        events: events.slice(0, EVENTS_MAX),
        hasMore: events.length > EVENTS_MAX,
      }
      return { ...answer, difference }
    }
    return knownUsage.read(namespaceId, plan, eventsBefore, work, signal)
  }
}

/** @param complete the time up to which everything is known */
function requireComplete(
  { asOf, knownAt, differenceSince }: PreviewRequest,
  complete: number,
  now: number,
): void {
  requireNotToCome(asOf, now)
  const tooLate = (field: string) =>
    new DomainError(
      'unprocessable',
      `${field} lies after ${complete}, the time up to which everything is known now`,
    )
  if (knownAt !== undefined && knownAt > complete) throw tooLate('known_at')
  if (differenceSince === undefined) return
  if (knownAt !== undefined && differenceSince > knownAt)
    throw new DomainError('unprocessable', 'difference_since lies after known_at')
  if (differenceSince > complete) throw tooLate('difference_since')
}

/**
 * Checks that `asOf` is not later than the next second. Why the next second is allowed: it is the `as_of` of a preview
 * with changes, and a caller may ask for a preview without changes at that `as_of` to compare the two.
 *
 * @throws DomainError unprocessable
 */
export function requireNotToCome(asOf: number | undefined, now: number): void {
  if (asOf !== undefined && asOf > now + 1) throw new DomainError('unprocessable', 'as_of lies in the future')
}

/** Reads all data of a preview that is in PostgreSQL. */
async function readForPreview(
  db: PoolClient,
  namespaceId: string,
  { contractId, at, asOf, knownAt, differenceSince, whatIf }: PreviewRequest,
  usageAsOf: number,
  now: number,
) {
  const found = await contractRepository(db).find(namespaceId, contractId)
  if (found === undefined) throw new DomainError('unprocessable', 'contract_id: there is no such contract')
  const contract = knownAt === undefined ? found : contractKnownAt(found, knownAt)
  const second = at ?? defaultSecond(contract, knownAt ?? now)
  // The changes of `whatIf` begin now. `asOf` is exclusive, so it is one second later to include the changes.
  const latest = knownAt ?? (whatIf === undefined ? now : now + 1)
  const { plans, prices } = await readAgreements(db, namespaceId, [contract], () => second, asOf ?? latest)
  const [plan] = plans
  if (plan === undefined) throw new Error('a contract without a plan')
  const creditAt = async (second: number | undefined) =>
    (await readCredit(db, namespaceId, [plan], second))[0] as CreditReadings
  const isAsKnown = knownAt !== undefined || differenceSince !== undefined
  return {
    plan,
    prices,
    usageAsOf,
    credit: await creditAt(isAsKnown ? usageAsOf : undefined),
    creditThen: differenceSince === undefined ? undefined : await creditAt(differenceSince),
  }
}
