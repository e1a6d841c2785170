/**
 * Where test/faults/crash-points.test.ts has the gateway crash, in the order in which reports and corrections get
 * there.
 */
export const GATEWAY_POINTS = [
  'gateway-accepted', // it has its time of acceptance
  'gateway-keyed', // its Idempotency-Key is in PostgreSQL, begun
  'gateway-appending', // its records are with the event log, which has not confirmed them
  'gateway-appended', // … and has
  'gateway-completed', // its Idempotency-Key is used up; nobody has been answered
  'gateway-correcting', // a correction's revision is written, and not committed
  'gateway-corrected', // … and committed; the event log knows nothing of it
  'gateway-sending', // its row is with the event log, which has not confirmed it
  'gateway-sent', // … and has; its revision is not marked as sent
  'gateway-marked', // … and is; nobody has been answered
  'gateway-relayed', // the relay has sent what was left behind, and not marked it
] as const

export type GatewayPoint = (typeof GATEWAY_POINTS)[number]
