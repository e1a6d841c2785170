import { type Finding, ok, warning } from './finding.ts'

/**
 * The newest minor version of each PostgreSQL that Tally supports, on the date of KNOWN_ON. The newest version that can
 * be embedded, 18.4, has security holes that 18.6 closes.
 */
const NEWEST: Readonly<Record<number, number>> = { 16: 15, 17: 11, 18: 6 }
const KNOWN_ON = '13 August 2026'

/**
 * Checks whether a version of PostgreSQL has security holes that a newer version closes. It does not use the network,
 * so it does not know about versions newer than this Tally.
 *
 * @param versionNum the value of PostgreSQL's server_version_num: 180004 is 18.4
 */
export function checkUpdates(part: string, versionNum: number, isEmbedded: boolean): Finding {
  const [major, minor] = [Math.floor(versionNum / 10_000), versionNum % 10_000]
  const newest = NEWEST[major]
  if (newest === undefined) return ok(part, `${major} is newer than the versions that this Tally knows`)
  if (minor >= newest) return ok(part, `${major}.${minor}: none newer was known on ${KNOWN_ON}`)
  const says = `${major}.${minor} has known security holes, which ${major}.${newest} of ${KNOWN_ON} closes`
  return warning(
    part,
    isEmbedded
      ? `${says}; only programs on this machine reach the embedded one; where others use this machine bring your own PostgreSQL (docs/operations.md, Updates)`
      : `${says}: install it`,
  )
}
