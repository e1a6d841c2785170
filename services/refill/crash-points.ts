/** Places at which the fault tests kill the refill service, in the order in which a refill reaches them. */
const BALANCE_POINTS = [
  'refill-locked', // the configuration is locked, nothing is written
  'refill-computed', // the configuration is locked, and the missing amount is known
  'refill-granted', // the grant is written, and not committed
  'refill-recorded', // the refill and its number are written, too
  'refill-committed', // all is committed; nobody has been notified
] as const

/** Places at which the fault tests kill the service while it gives credit of contracts. */
const CREDIT_POINTS = [
  'credit-locked', // the contracts are locked, nothing is written
  'credit-claimed', // the keys are taken, without the grants
  'credit-granted', // the keys are taken and the grants are written
  'credit-recorded', // the lines have the time of their next credit; nothing is committed
  'credit-committed', // all is committed
] as const

export const REFILL_POINTS = [...BALANCE_POINTS, ...CREDIT_POINTS] as const

export type RefillPoint = (typeof REFILL_POINTS)[number]
