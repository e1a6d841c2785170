import { DomainError } from '../../errors/domain-error.ts'
import type { ContractTimes } from './contract.ts'
import { periodAt } from './periods.ts'

export type ContractStatus = 'scheduled' | 'active' | 'canceled' | 'ended'

/** A request that a contract ends at some time; `cancelAt` is in Unix seconds. */
export type CancelRequest = { mode: 'immediate' } | { mode: 'period_end' } | { mode: 'at'; cancelAt: number }

/**
 * The status of a contract at an instant, in Unix seconds. It is computed from the contract's times alone, so the
 * instant may also be in the past or in the future.
 */
export function contractStatus({ startsAt, endsAt, cancelAt }: ContractTimes, now: number): ContractStatus {
  if (cancelAt !== null && cancelAt <= now && cancelAt <= (endsAt ?? Infinity)) return 'canceled'
  if (endsAt !== null && endsAt <= now) return 'ended'
  return now < startsAt ? 'scheduled' : 'active'
}

/**
 * A contract as it was known at an instant, in Unix seconds, as far as its present state shows it. A cancellation never
 * takes effect in the past. So a cancellation that was requested later matters only in one case: if it was requested
 * and took effect in the second `knownAt`. Then the result is a contract without the cancellation.
 */
export function contractKnownAt<
  C extends Pick<ContractTimes, 'cancelAt'> & { cancellation: { requestedAt: number } | null },
>(contract: C, knownAt: number): C {
  const { cancelAt, cancellation } = contract
  const isUnknown = cancelAt === knownAt && cancellation !== null && cancellation.requestedAt >= knownAt
  return isUnknown ? { ...contract, cancelAt: null, cancellation: null } : contract
}

/**
 * The time at which a contract ends if it is canceled now.
 *
 * @param now in whole Unix seconds
 * @returns Unix seconds: now or later; for a contract that is already canceled, the time at which it was canceled
 * @throws DomainError conflict when the contract has ended, unprocessable when the requested time lies before now or
 *   after the contract's end
 */
export function cancellationOf(contract: ContractTimes, request: CancelRequest, now: number): number {
  const status = contractStatus(contract, now)
  if (status === 'canceled' && contract.cancelAt !== null) return contract.cancelAt
  if (status === 'ended') throw new DomainError('conflict', 'the contract has ended')
  const { startsAt, endsAt } = contract
  switch (request.mode) {
    case 'immediate':
      return now
    case 'period_end':
      return Math.min(periodAt(contract, Math.max(now, startsAt)).endAt, endsAt ?? Infinity)
    case 'at': {
      const { cancelAt } = request
      if (cancelAt < now) throw new DomainError('unprocessable', 'cancel_at: lies in the past')
      if (cancelAt > (endsAt ?? Infinity))
        throw new DomainError('unprocessable', 'cancel_at: lies after the end of the contract')
      return cancelAt
    }
  }
}

/**
 * Checks that lines may be ended and added at an instant.
 *
 * @param effectiveAt, now in whole Unix seconds
 * @throws DomainError conflict when the contract is over; unprocessable when `effectiveAt` lies before now, before the
 *   contract's start, or not before its end
 */
export function requireChangeable(contract: ContractTimes, effectiveAt: number, now: number): void {
  requireNotOver(contract, now)
  if (effectiveAt < now) throw new DomainError('unprocessable', 'effective_at: lies in the past')
  if (effectiveAt < contract.startsAt)
    throw new DomainError('unprocessable', 'effective_at: lies before the start of the contract')
  if (effectiveAt >= (contract.endsAt ?? Infinity))
    throw new DomainError('unprocessable', 'effective_at: lies after the contract')
}

/**
 * Checks that a contract is in force or will be. Otherwise its cancellation cannot be withdrawn, and its lines cannot
 * be changed.
 *
 * @throws DomainError conflict when the contract is over
 */
export function requireNotOver(contract: ContractTimes, now: number): void {
  const status = contractStatus(contract, now)
  if (status === 'canceled') throw new DomainError('conflict', 'the contract is canceled')
  if (status === 'ended') throw new DomainError('conflict', 'the contract has ended')
}
