/** Where the fault tests have the refill service crash, in the order in which a refill gets there. */
export const REFILL_POINTS = [
  'refill-locked', // the configuration is locked, nothing is written
  'refill-computed', // … and how much is missing is known
  'refill-granted', // the grant is written, and not committed
  'refill-recorded', // … with the refill and its number
  'refill-committed', // and is committed; nobody has been told
] as const

export type RefillPoint = (typeof REFILL_POINTS)[number]
