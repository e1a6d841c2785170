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
  /** Gives a time: no event that was accepted before it can still arrive. */
  listedUpTo: () => Promise<Micros>
}

/** Changes a contract within a transaction that is rolled back. Does nothing when there is no such contract. */
export type WhatIf = (db: PoolClient, namespaceId: string) => Promise<void>

/** The options of a preview. Times are in Unix seconds; undefined means the default. */
interface PreviewRequest {
  contractId: string
  at: number | undefined
  asOf: number | undefined
  /** Counts only what was known before this time; undefined: everything. */
  knownAt: number | undefined
  /** Reports how the invoice changed since this time. */
  differenceSince: number | undefined
  /** Changes the contract for this preview only; undefined: the contract as it is. */
  whatIf: WhatIf | undefined
}

/** An invoice, with its plan and the stored prices of its lines. */
export interface Preview {
  invoice: Invoice
  plan: InvoicePlan
  prices: ReadonlyMap<string, PriceRecord>
  /** Whether the invoice counts only what was known at some time. */
  isAsKnown: boolean
  difference: PreviewDifference | undefined
}

/** How the invoice changed since an earlier time. */
export interface PreviewDifference extends InvoiceDifference {
  since: number
  /** The first of the events that caused the difference. */
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
 * Previews a period of a contract: plans, reads, and rates. Nothing is stored; changes that are tried out are rolled
 * back.
 *
 * A difference compares what was known at two times. So with `differenceSince` the invoice, too, counts only what was
 * known at a fixed time: events that arrive during the request are left out.
 *
 * @param signal stops waiting to read usage
 * @throws DomainError unprocessable when there is no such contract, `at` lies outside it, `asOf` lies after the next
 *   second, `knownAt` or `differenceSince` lies after the time up to which everything is known, or `differenceSince`
 *   lies after `knownAt`; and the errors of a change or a cancellation that is tried out
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
 * Checks that a time is at most the next second. A preview with changes is as of the next second, and the same `as_of`
 * must be accepted without changes.
 *
 * @throws DomainError unprocessable
 */
export function requireNotToCome(asOf: number | undefined, now: number): void {
  if (asOf !== undefined && asOf > now + 1) throw new DomainError('unprocessable', 'as_of lies in the future')
}

/** Reads everything that PostgreSQL holds for a preview. */
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
  // A change that is tried out begins now. `asOf` is exclusive, so it is a second later to include the change.
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
