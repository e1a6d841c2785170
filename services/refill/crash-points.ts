/** Where the fault tests have the refill service crash, in the order in which a refill gets there. */
const BALANCE_POINTS = [
  'refill-locked', // the configuration is locked, nothing is written
  'refill-computed', // … and how much is missing is known
  'refill-granted', // the grant is written, and not committed
  'refill-recorded', // … with the refill and its number
  'refill-committed', // and is committed; nobody has been told
] as const

/** The same for credit of contracts. */
const CREDIT_POINTS = [
  'credit-locked', // the contracts are locked, nothing is written
  'credit-claimed', // the keys are taken, without the grants
  'credit-granted', // … and with them
  'credit-recorded', // the lines say when they give again; nothing is committed
  'credit-committed', // and is committed
] as const

export const REFILL_POINTS = [...BALANCE_POINTS, ...CREDIT_POINTS] as const

export type RefillPoint = (typeof REFILL_POINTS)[number]
