import { randomBytes } from 'node:crypto'

/** The seed of a run of the fault suite. FAULT_SEED repeats the random choices of a run, but not its timing. */
export const SEED = process.env['FAULT_SEED'] ?? randomBytes(4).toString('hex')

/** Whether the long form of the tests runs. */
export const IS_LONG = process.env['FAULT_LONG'] === '1'

/** Prints a figure or a seed of a run. */
export function tell(text: string): void {
  process.stdout.write(`    (${text})\n`)
}
