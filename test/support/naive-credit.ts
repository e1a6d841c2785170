import type { ContractJson, CreditJson, EventJson, GrantJson } from './billing-vectors.ts'
import {
  down,
  type Fraction,
  greater,
  isLess,
  lesser,
  minus,
  NOTHING,
  plus,
  readFraction,
  writeFraction,
} from './naive-fraction.ts'
import { naivePeriod } from './naive-periods.ts'
import { naiveQuantity } from './naive-usage.ts'

/** A grant, or credit that is due by a line of the contract and not yet written. */
type NaiveGrant = Omit<GrantJson, 'id'> & { id: string | null }

/** The data from which the credit of an invoice is computed. */
export interface NaiveCreditRequest {
  contract: ContractJson
  grants: readonly GrantJson[]
  /** All events of the account, in their known versions. */
  events: readonly EventJson[]
  /** In Unix seconds. A grant that begins at this second does not count, and one that ends at this second counts. */
  before: number
  total: Fraction
  minorUnits: number
}

/** Computes the credit of an invoice from the definitions. */
export function naiveCredit({ contract, events, before, total, ...of }: NaiveCreditRequest): CreditJson {
  const inForce: NaiveGrant[] = []
  for (const grant of [...of.grants, ...creditsToCome(contract, before)]) {
    if (grant.effective_at >= before) continue
    if (grant.expires_at !== undefined && grant.expires_at < before) continue
    if (grant.voided_at !== undefined && grant.voided_at < before) continue
    inForce.push(grant)
  }
  const spending = inForce.filter(({ amount }) => isLess(NOTHING, readFraction(amount))).sort(bySpending)
  let granted = NOTHING
  for (const { amount } of spending) granted = plus(granted, readFraction(amount))
  let balance = NOTHING
  for (const { amount } of inForce) balance = plus(balance, readFraction(amount))
  const usage = events.filter((event) => event.source === contract.currency && event.occurred_at < before)
  balance = minus(balance, readFraction(naiveQuantity(usage, 'sum')))

  const available = lesser(granted, greater(NOTHING, balance))
  const creditTotal = lesser(total, down(available, of.minorUnits))
  const applied: CreditJson['credits_applied'] = []
  let usedUp = minus(granted, available)
  const left = spending.map(({ amount }) => readFraction(amount))
  // A debit reduces the first grants that end at the same time.
  for (const debit of inForce.filter(({ amount }) => isLess(readFraction(amount), NOTHING))) {
    let owed = minus(NOTHING, readFraction(debit.amount))
    for (const [nth, grant] of spending.entries()) {
      if (grant.expires_at !== debit.expires_at) continue
      const spent = lesser(lesser(left[nth] ?? NOTHING, owed), usedUp)
      left[nth] = minus(left[nth] ?? NOTHING, spent)
      owed = minus(owed, spent)
      usedUp = minus(usedUp, spent)
    }
  }
  let toTake = creditTotal
  for (const [nth, grant] of spending.entries()) {
    const spent = lesser(left[nth] ?? NOTHING, usedUp)
    usedUp = minus(usedUp, spent)
    const taken = lesser(minus(left[nth] ?? NOTHING, spent), toTake)
    toTake = minus(toTake, taken)
    if (isLess(NOTHING, taken)) applied.push({ grant_id: grant.id, amount: writeFraction(taken) })
  }
  return {
    available: writeFraction(available),
    credits_applied: applied,
    credit_total: writeFraction(creditTotal),
    amount_due: writeFraction(minus(total, creditTotal)),
  }
}

/**
 * One grant for each period in which a credit line in the contract's currency is in force, from the contract's start
 * on.
 */
function creditsToCome(contract: ContractJson, before: number): NaiveGrant[] {
  const due: NaiveGrant[] = []
  for (const { credit, starts_at, ends_at = Infinity } of contract.lines) {
    if (credit === undefined || credit.currency !== contract.currency) continue
    const end = Math.min(ends_at, contract.ends_at ?? Infinity, contract.cancel_at ?? Infinity)
    let startAt = Math.max(starts_at, contract.starts_at)
    while (startAt < end && startAt < before) {
      const periodEnd = naivePeriod(contract, startAt).endAt
      due.push({
        id: null,
        amount: credit.amount,
        effective_at: startAt,
        ...(credit.expires === 'period_end' && { expires_at: periodEnd }),
      })
      startAt = periodEnd
    }
  }
  return due
}

function bySpending(a: NaiveGrant, b: NaiveGrant): number {
  const aKeys = [a.expires_at ?? Infinity, a.effective_at]
  const bKeys = [b.expires_at ?? Infinity, b.effective_at]
  for (const [index, key] of aKeys.entries()) {
    const other = bKeys[index] ?? 0
    if (key !== other) return key < other ? -1 : 1
  }
  if (a.id === null || b.id === null) return a.id === b.id ? 0 : a.id === null ? 1 : -1
  return a.id < b.id ? -1 : 1
}
