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

/** A grant of an invoice's account and currency; instants in Unix seconds, which may have a fraction. */
export interface CreditGrant {
  /** null: due by a contract's line, but not yet stored. */
  id: string | null
  /** Negative for a debit: what an earlier invoice took. */
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
  /** The credit that usage in the currency leaves, as in a balance; never negative. */
  available: Ratio
  creditsApplied: CreditApplied[]
  creditTotal: Ratio
  amountDue: Ratio
}

/** What an invoice's credit is computed from. */
export interface CreditRequest {
  total: Ratio
  grants: readonly CreditGrant[]
  /** All usage in the currency since the beginning that occurred before `before`. */
  usage: Ratio
  /** In Unix seconds; a grant that begins then does not count, and one that ends then does. */
  before: number
  minorUnits: number
}

/** Whether there is credit to spend, before usage: without credit, usage in the currency changes no invoice. */
export const hasCredit = (grants: readonly CreditGrant[], before: number): boolean =>
  grants.some((grant) => isInForce(grant, before) && isPositive(grant))

/** Computes how much credit is applied to an invoice. It lowers no balance: settling the invoice does. */
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
 * The credit that expires soonest is spent first; then the one that was given first. Grants that are not yet stored
 * come last.
 */
function bySpending(a: CreditGrant, b: CreditGrant): number {
  const [aEnd, bEnd] = [a.expiresAt ?? Infinity, b.expiresAt ?? Infinity]
  if (aEnd !== bEnd) return aEnd - bEnd
  if (a.effectiveAt !== b.effectiveAt) return a.effectiveAt - b.effectiveAt
  if (a.id === null || b.id === null) return Number(a.id === null) - Number(b.id === null)
  return a.id < b.id ? -1 : Number(a.id > b.id)
}

/** A grant, and the part of it that is left. */
interface Left {
  grant: CreditGrant
  left: Ratio
}

/**
 * What is left of each positive grant, in the order of spending, when `usedUp` of their sum is used. Debits first use
 * up grants with the same end: settling an invoice debits each grant with that grant's own end. Everything else, such
 * as usage in the currency, uses up grants in the order of spending.
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
