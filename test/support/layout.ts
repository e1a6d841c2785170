/**
 * The layout of the services of a Tally under test: all in one process on embedded engines with the event log in
 * PostgreSQL, or each in a separate process with the event log on Kafka. `npm test` runs the API's suites with the
 * first layout, `npm run test:processes` with the second.
 */
export const LAYOUT: 'embedded' | 'processes' =
  process.env['TEST_LAYOUT'] === 'processes' ? 'processes' : 'embedded'

/**
 * The number of random trials. With separate processes there are fewer, because each query takes several times as long
 * and has the same answer.
 */
export const timesIn = (times: Record<typeof LAYOUT, number>): number => times[LAYOUT]
