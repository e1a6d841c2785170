/**
 * How the services of a Tally under test are laid out: all in one process on embedded engines with the event log in
 * PostgreSQL, or each in a process of its own with the event log on Kafka. `npm test` runs the API's suites the first way,
 * `npm run test:processes` the second.
 */
export const LAYOUT: 'embedded' | 'processes' =
  process.env['TEST_LAYOUT'] === 'processes' ? 'processes' : 'embedded'
