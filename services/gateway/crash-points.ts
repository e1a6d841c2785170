/** Places at which test/faults/crash-points.test.ts kills the gateway, in the order in which requests reach them. */
export const GATEWAY_POINTS = [
  'gateway-accepted', // an event has its time of acceptance
  'gateway-keyed', // PostgreSQL has the event's Idempotency-Key, which is not used up yet
  'gateway-appending', // the event's records were passed to the event log, which has not confirmed them
  'gateway-appended', // the event log has confirmed the event's records
  'gateway-completed', // the event's Idempotency-Key is used up; the client has no answer yet
  'gateway-correcting', // a correction's revision is written, and not committed
  'gateway-corrected', // the revision is committed; the event log does not have its row
  'gateway-sending', // the revision's row was passed to the event log, which has not confirmed it
  'gateway-sent', // the event log has confirmed the row; the revision is not marked as sent
  'gateway-marked', // the revision is marked as sent; the client has no answer yet
  'gateway-relayed', // the relay has sent corrections that crashed requests left unsent, and has not marked them
] as const

export type GatewayPoint = (typeof GATEWAY_POINTS)[number]
