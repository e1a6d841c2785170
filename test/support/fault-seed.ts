import { randomBytes } from 'node:crypto'
import { randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'

/** The seed of a run of the fault suite. FAULT_SEED repeats the random choices of a run, but not its timing. */
export const SEED = process.env['FAULT_SEED'] ?? randomBytes(4).toString('hex')

/** One in this many points is tried in the short form of the tests. */
const DRAWN_OF = 3

/** Whether the long form of the tests runs. */
export const IS_LONG = process.env['FAULT_LONG'] === '1'

/**
 * Of the points at which a service is killed, those that this run tries: every third, from one that the seed draws, and
 * all with FAULT_LONG=1. All of them in each run of CI would take several minutes.
 */
export function drawnPoints<Point extends string>(points: readonly Point[]): Point[] {
  if (IS_LONG) return [...points]
  const first = randomInteger(seededRandom(`points ${SEED}`), DRAWN_OF)
  return points.filter((_, index) => index % DRAWN_OF === first)
}

/** Prints a figure or a seed of a run. */
export function tell(text: string): void {
  process.stdout.write(`    (${text})\n`)
}
