import { failed, type Finding, ok, warning } from './finding.ts'

const GB = 1_000_000_000
const FAILED_BYTES = GB
const WARNING_BYTES = 5 * GB
const WARNING_SHARE = 0.1

/**
 * Judges the free space of a disk.
 * @param free, total in bytes
 */
export function spaceFinding(part: string, free: number, total: number): Finding {
  const says = `${(free / GB).toFixed(1)} GB of ${(total / GB).toFixed(1)} GB free`
  if (free < FAILED_BYTES) return failed(part, `${says}: make room, or usage is soon refused`)
  if (free < WARNING_BYTES && free < total * WARNING_SHARE)
    return warning(part, `${says}: make room before it is full`)
  return ok(part, says)
}
