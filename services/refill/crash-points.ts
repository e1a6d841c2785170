/** Places at which the fault tests kill the refill service, in the order in which a refill reaches them. */
const BALANCE_POINTS = [
  'refill-locked', // the configuration is locked; nothing is written
  'refill-computed', // the configuration is locked, and the missing amount is computed
  'refill-granted', // the grant is written, and not committed
  'refill-recorded', // the refill and its number are written, too
  'refill-committed', // everything is committed; nothing is logged yet
] as const

/** Places at which the fault tests kill the service while it gives credit of contracts. */
const CREDIT_POINTS = [
  'credit-locked', // the contracts are locked; nothing is written
  'credit-claimed', // the keys of the grants are written, and the grants are not
  'credit-granted', // the keys and the grants are written
  'credit-recorded', // the times of the lines' next credit are written; nothing is committed
  'credit-committed', // everything is committed
] as const

export const REFILL_POINTS = [...BALANCE_POINTS, ...CREDIT_POINTS] as const

export type RefillPoint = (typeof REFILL_POINTS)[number]
