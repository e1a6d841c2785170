/** Places at which test/faults/crash-points.test.ts kills the gateway, in the order in which requests reach them. */
export const GATEWAY_POINTS = [
  'gateway-accepted', // an event has its time of acceptance
  'gateway-keyed', // PostgreSQL has its Idempotency-Key, which is not used up yet
  'gateway-appending', // its records are handed to the event log, which has not confirmed them
  'gateway-appended', // the event log has confirmed its records
  'gateway-completed', // its Idempotency-Key is used up; nobody has been answered
  'gateway-correcting', // a correction's revision is written, and not committed
  'gateway-corrected', // the revision is committed; the event log knows nothing of it
  'gateway-sending', // the correction's row is handed to the event log, which has not confirmed it
  'gateway-sent', // the event log has confirmed the row; the revision is not marked as sent
  'gateway-marked', // the revision is marked as sent; nobody has been answered
  'gateway-relayed', // the relay has sent corrections that were left behind, and not marked them
] as const

export type GatewayPoint = (typeof GATEWAY_POINTS)[number]
