import { failed, type Finding, ok, warning } from './finding.ts'

const WARNING_MS = 1_000
const FAILED_MS = 10_000

/**
 * Compares the clock of an engine with the clock of this machine. The time that the engine takes to answer does not
 * count as a difference.
 *
 * @param read returns the engine's time in milliseconds since 1970
 */
export async function clockDifference(part: string, read: () => Promise<number>): Promise<Finding> {
  const before = Date.now()
  const theirs = await read()
  const after = Date.now()
  const differenceMs = Math.max(0, before - theirs, theirs - after)
  const says = `its clock differs from ours by ${(differenceMs / 1_000).toFixed(1)} s`
  const advice = 'let one time server set the clocks of all machines'
  if (differenceMs >= FAILED_MS) return failed(part, `${says}: ${advice}`)
  if (differenceMs >= WARNING_MS) return warning(part, `${says}: ${advice}`)
  return ok(part, 'its clock agrees with ours')
}
