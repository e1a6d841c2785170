import {
  compareRatios,
  maxRatio,
  minRatio,
  type Ratio,
  RATIO_ZERO,
  roundDown,
  subtractRatios,
  sumRatios,
} from '../../amount/ratio.ts'
import { groupBy } from '../../collections/group-by.ts'

/** A grant to the invoice's account, in its currency. Times are Unix seconds and may have a fraction. */
export interface CreditGrant {
  /** Null if the grant is due from a contract's credit line, but not stored yet. */
  id: string | null
  /** Negative for a debit, which records the credit that an earlier invoice used. */
  amount: Ratio
  effectiveAt: number
  expiresAt: number | null
  voidedAt: number | null
  archivedAt: number | null
}

interface CreditApplied {
  grantId: string | null
  amount: Ratio
}

export interface Credit {
  /** The credit that remains after all usage in the currency, computed like a balance; never negative. */
  available: Ratio
  creditsApplied: CreditApplied[]
  creditTotal: Ratio
  amountDue: Ratio
}

/** The values that an invoice's credit is computed from. */
export interface CreditRequest {
  total: Ratio
  grants: readonly CreditGrant[]
  /** All usage ever in the currency that occurred before `before`. */
  usage: Ratio
  /** Unix seconds. A grant that begins exactly then does not count. A grant that ends exactly then still counts. */
  before: number
  minorUnits: number
}

/**
 * Whether any credit is in force, even if usage has used it up. Without credit, usage in the currency has no effect.
 */
export const hasCredit = (grants: readonly CreditGrant[], before: number): boolean =>
  grants.some((grant) => isInForce(grant, before) && isPositive(grant))

/** Computes how much credit is applied to an invoice. The balance does not change until the invoice is settled. */
export function applyCredit({ total, grants, usage, before, minorUnits }: CreditRequest): Credit {
  const inForce = grants.filter((grant) => isInForce(grant, before))
  const positive = inForce.filter(isPositive)
  const granted = sumRatios(positive.map(({ amount }) => amount))
  const balance = subtractRatios(sumRatios(inForce.map(({ amount }) => amount)), usage)
  const available = minRatio(granted, maxRatio(RATIO_ZERO, balance))
  const creditTotal = minRatio(total, roundDown(available, minorUnits))
  return {
    available,
    creditsApplied: take(leftOf(inForce, subtractRatios(granted, available)), creditTotal),
    creditTotal,
    amountDue: subtractRatios(total, creditTotal),
  }
}

const isInForce = (grant: CreditGrant, before: number): boolean =>
  grant.effectiveAt < before &&
  [grant.expiresAt, grant.voidedAt, grant.archivedAt].every((end) => end === null || end >= before)

const isPositive = ({ amount }: CreditGrant): boolean => compareRatios(amount, RATIO_ZERO) > 0

/**
 * The order of spending. The grant that expires first is spent first. Of grants that expire at the same time, the grant
 * that took effect first is spent first. If both times are equal, stored grants come before grants that are not stored
 * yet.
 */
function bySpending(a: CreditGrant, b: CreditGrant): number {
  const [aEnd, bEnd] = [a.expiresAt ?? Infinity, b.expiresAt ?? Infinity]
  if (aEnd !== bEnd) return aEnd - bEnd
  if (a.effectiveAt !== b.effectiveAt) return a.effectiveAt - b.effectiveAt
  if (a.id === null || b.id === null) return Number(a.id === null) - Number(b.id === null)
  return a.id < b.id ? -1 : Number(a.id > b.id)
}

/** A grant, and the part of its amount that is left. */
interface Left {
  grant: CreditGrant
  left: Ratio
}

/**
 * The part of each positive grant that remains after `usedUp` in total is taken from all grants, in the order of
 * spending. A debit is first taken from grants that end at the same time as the debit, because settling an invoice
 * gives each debit the end of its grant. Everything else, such as usage in the currency, is taken in the order of
 * spending.
 */
function leftOf(inForce: readonly CreditGrant[], usedUp: Ratio): Left[] {
  const debits = groupBy(
    inForce.filter((grant) => !isPositive(grant)),
    ({ expiresAt }) => expiresAt,
  )
  const debited = new Map(
    [...debits].map(([end, ofEnd]) => [
      end,
      subtractRatios(RATIO_ZERO, sumRatios(ofEnd.map(({ amount }) => amount))),
    ]),
  )
  let toUse = usedUp
  const use = (from: Left, atMost: Ratio): Ratio => {
    const used = minRatio(minRatio(from.left, atMost), toUse)
    from.left = subtractRatios(from.left, used)
    toUse = subtractRatios(toUse, used)
    return used
  }
  const all = inForce
    .filter(isPositive)
    .toSorted(bySpending)
    .map((grant): Left => ({ grant, left: grant.amount }))
  for (const one of all) {
    const { expiresAt } = one.grant
    const ofEnd = debited.get(expiresAt) ?? RATIO_ZERO
    debited.set(expiresAt, subtractRatios(ofEnd, use(one, ofEnd)))
  }
  for (const one of all) use(one, one.left)
  return all
}

/** Takes an amount from grants, one after the other. */
function take(grants: readonly Left[], amount: Ratio): CreditApplied[] {
  const applied: CreditApplied[] = []
  let toTake = amount
  for (const { grant, left } of grants) {
    const taken = minRatio(left, toTake)
    toTake = subtractRatios(toTake, taken)
    if (compareRatios(taken, RATIO_ZERO) > 0) applied.push({ grantId: grant.id, amount: taken })
  }
  return applied
}
