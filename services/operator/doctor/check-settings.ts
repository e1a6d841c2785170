import { statfs } from 'node:fs/promises'
import { ENOUGH_BYTES, LITTLE_BYTES } from '../../../shared/lifecycle/disk-space.ts'
import { failed, type Finding, ok, warning } from './finding.ts'
import { spaceFinding } from './space-finding.ts'

const GUESSED = new Set([
  '',
  'postgres',
  'password',
  'passwort',
  'secret',
  'admin',
  'changeme',
  'tally',
  'test',
])
const LOOPBACK = /^(127\.|::1$|localhost$)/

const MB = 1_000_000

/**
 * Checks how much room is left on the disk with the data.
 *
 * @param holdsLog whether PostgreSQL is embedded; usage is then refused when room is scarce
 */
export async function checkDisk(folder: string, holdsLog: boolean): Promise<Finding[]> {
  const part = 'disk of DATA_DIR'
  const { bavail, blocks, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (holdsLog && free < ENOUGH_BYTES)
    return [
      failed(
        part,
        `${Math.floor(free / MB)} MB free: below ${LITTLE_BYTES / MB} no usage is taken, until there are ${ENOUGH_BYTES / MB} again; make room`,
      ),
    ]
  return [spaceFinding(part, free, blocks * bsize)]
}

/**
 * Checks for passwords that anybody would guess.
 *
 * @param urls by the name of their setting; undefined where the engine is embedded
 */
export function checkPasswords(urls: Readonly<Record<string, string | undefined>>): Finding[] {
  const part = 'passwords'
  const weak = Object.entries(urls).filter(([, url]) => url !== undefined && isGuessed(url))
  if (weak.length === 0) return [ok(part, 'none is easily guessed')]
  return weak.map(([setting]) =>
    warning(part, `the password in ${setting} is easily guessed: choose a random one`),
  )
}

function isGuessed(url: string): boolean {
  const { username, password } = new URL(url)
  const secret = decodeURIComponent(password).toLowerCase()
  return GUESSED.has(secret) || secret === decodeURIComponent(username).toLowerCase()
}

/**
 * Checks for ports that other machines can reach.
 *
 * @param hosts by the name of their setting
 */
export function checkExposure(hosts: Readonly<Record<string, string>>): Finding[] {
  const part = 'ports'
  const open = Object.entries(hosts).filter(([, host]) => !LOOPBACK.test(host))
  if (open.length === 0) return [ok(part, 'open only to this machine')]
  return open.map(([setting, host]) =>
    warning(
      part,
      `${setting} is ${host}: API keys and passwords travel in the clear unless TLS ends in front of it`,
    ),
  )
}
