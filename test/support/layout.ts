/**
 * How the services of a Tally under test are laid out: all in one process on embedded engines with the event log in
 * PostgreSQL, or each in a process of its own with the event log on Kafka. `npm test` runs the API's suites the first
 * way, `npm run test:processes` the second.
 */
export const LAYOUT: 'embedded' | 'processes' =
  process.env['TEST_LAYOUT'] === 'processes' ? 'processes' : 'embedded'

/**
 * How often something random is tried: with the services as processes each query takes several times as long, and
 * answers the same.
 */
export const timesIn = (times: Record<typeof LAYOUT, number>): number => times[LAYOUT]
