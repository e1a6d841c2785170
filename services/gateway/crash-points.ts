/** Where test/faults/crash-points.test.ts has the gateway crash, in the order in which a report gets there. */
export const GATEWAY_POINTS = [
  'gateway-accepted', // it has its time of acceptance
  'gateway-keyed', // its Idempotency-Key is in PostgreSQL, begun
  'gateway-appending', // its records are with the event log, which has not confirmed them
  'gateway-appended', // … and has
  'gateway-completed', // its Idempotency-Key is used up; nobody has been answered
] as const

export type GatewayPoint = (typeof GATEWAY_POINTS)[number]
