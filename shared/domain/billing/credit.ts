import {
  addRatios,
  compareRatios,
  maxRatio,
  minRatio,
  RATIO_ZERO,
  roundDown,
  subtractRatios,
  sumRatios,
  type Ratio,
} from '../../amount/ratio.ts'

/** A grant of an invoice's account and currency; instants in Unix seconds, which may have a fraction. */
export interface CreditGrant {
  /** null: due by a contract's line, and not yet written. */
  id: string | null
  /** Negative: what an earlier invoice took. */
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
  /** What of the grants is left by usage in the currency, as a balance has it; never negative. */
  available: Ratio
  creditsApplied: CreditApplied[]
  creditTotal: Ratio
  amountDue: Ratio
}

/** What an invoice is paid from. */
export interface CreditRequest {
  total: Ratio
  grants: readonly CreditGrant[]
  /** All usage in the currency, ever, that occurred before `before`. */
  usage: Ratio
  /** In Unix seconds; what begins then is not counted, and what ends then is. */
  before: number
  minorUnits: number
}

/** Whether there is something to spend, before usage: without it, usage in the currency changes no invoice. */
export const hasCredit = (grants: readonly CreditGrant[], before: number): boolean =>
  grants.some((grant) => isInForce(grant, before) && isPositive(grant))

/** What credit takes off an invoice. It lowers no balance: settling the invoice does. */
export function applyCredit({ total, grants, usage, before, minorUnits }: CreditRequest): Credit {
  const inForce = grants.filter((grant) => isInForce(grant, before))
  const positive = inForce.filter(isPositive)
  const granted = sumRatios(positive.map(({ amount }) => amount))
  const balance = subtractRatios(sumRatios(inForce.map(({ amount }) => amount)), usage)
  const available = minRatio(granted, maxRatio(RATIO_ZERO, balance))
  const creditTotal = minRatio(total, roundDown(available, minorUnits))
  return {
    available,
    creditsApplied: take(positive.toSorted(bySpending), subtractRatios(granted, available), creditTotal),
    creditTotal,
    amountDue: subtractRatios(total, creditTotal),
  }
}

const isInForce = (grant: CreditGrant, before: number): boolean =>
  grant.effectiveAt < before &&
  [grant.expiresAt, grant.voidedAt, grant.archivedAt].every((end) => end === null || end >= before)

const isPositive = ({ amount }: CreditGrant): boolean => compareRatios(amount, RATIO_ZERO) > 0

/** What expires soonest is spent first; of the same, what was given first. Those not yet written come after the written. */
function bySpending(a: CreditGrant, b: CreditGrant): number {
  const [aEnd, bEnd] = [a.expiresAt ?? Infinity, b.expiresAt ?? Infinity]
  if (aEnd !== bEnd) return aEnd - bEnd
  if (a.effectiveAt !== b.effectiveAt) return a.effectiveAt - b.effectiveAt
  if (a.id === null || b.id === null) return Number(a.id === null) - Number(b.id === null)
  return a.id < b.id ? -1 : Number(a.id > b.id)
}

/** Takes an amount of grants one after the other, behind what of them is used up. */
function take(grants: readonly CreditGrant[], usedUp: Ratio, amount: Ratio): CreditApplied[] {
  const applied: CreditApplied[] = []
  const end = addRatios(usedUp, amount)
  let reached = RATIO_ZERO
  for (const grant of grants) {
    const from = maxRatio(reached, usedUp)
    reached = addRatios(reached, grant.amount)
    const taken = subtractRatios(minRatio(reached, end), from)
    if (compareRatios(taken, RATIO_ZERO) > 0) applied.push({ grantId: grant.id, amount: taken })
  }
  return applied
}
