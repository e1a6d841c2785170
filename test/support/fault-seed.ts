import { randomBytes } from 'node:crypto'

/** What makes a run of the fault suite; FAULT_SEED runs it again, as far as chance can be told what to do. */
export const SEED = process.env['FAULT_SEED'] ?? randomBytes(4).toString('hex')

/** Whether long outages are wanted. */
export const IS_LONG = process.env['FAULT_LONG'] === '1'

/** A figure or a seed of a run. */
export function tell(text: string): void {
  process.stdout.write(`    (${text})\n`)
}
