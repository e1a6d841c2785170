import { mkdir, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { writeSecretFile } from '../../../shared/config/secret-file.ts'
import { randomHex } from '../../../shared/domain/random-hex.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'

/** An address of Tally with a key for it. */
export interface Profile {
  url: string
  company: string
  mode: 'live' | 'test'
  /** The file with the key. */
  keyFile: string
}

export const DEFAULT_PROFILE = 'default'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

interface StoredProfile {
  url: string
  company: string
  mode: 'live' | 'test'
  key_file: string
}

/** The folder of the profiles: `$XDG_CONFIG_HOME/tally`. */
const configFolder = (env: NodeJS.ProcessEnv): string =>
  path.join(env['XDG_CONFIG_HOME'] || path.join(env['HOME'] || homedir(), '.config'), 'tally')

const profilesFile = (env: NodeJS.ProcessEnv): string => path.join(configFolder(env), 'profiles.json')

const keysFolder = (env: NodeJS.ProcessEnv): string => path.join(configFolder(env), 'keys')

/**
 * A new file for the key of a profile. Why a new one: a profile that still has its address of before must never get the
 * key of another address, not even for a moment.
 */
export const newKeyFile = (env: NodeJS.ProcessEnv, name: string): string =>
  path.join(keysFolder(env), `${name}-${randomHex(8)}`)

/** @throws UsageError when a profile cannot have this name */
export function requireProfileName(name: string): string {
  if (NAME.test(name)) return name
  throw new UsageError(`--profile ${JSON.stringify(name)}: use letters, digits, dots, dashes and underscores`)
}

/** @throws StartupError when the file is not valid */
export async function readProfiles(env: NodeJS.ProcessEnv): Promise<Map<string, Profile>> {
  const file = profilesFile(env)
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    if (isAbsent(err)) return undefined
    throw new StartupError(`cannot read ${file}: ${messageOf(err)}`)
  })
  if (text === undefined) return new Map()
  try {
    const stored = JSON.parse(text) as Record<string, StoredProfile>
    return new Map(Object.entries(stored).map(([name, profile]) => [name, fromStored(profile)]))
  } catch {
    throw new StartupError(`${file} is damaged: delete it, and log in again with tally login`)
  }
}

/** Adds a profile, or replaces it, and then removes its key of before. */
export async function writeProfile(env: NodeJS.ProcessEnv, name: string, profile: Profile): Promise<void> {
  const profiles = await readProfiles(env)
  const before = profiles.get(name)
  await writeProfiles(env, profiles.set(name, profile))
  if (before !== undefined) await removeKey(env, before, profiles)
}

/** Removes the key of a profile that was removed, if `tally login` wrote it, and no other profile names it. */
async function removeKey(
  env: NodeJS.ProcessEnv,
  { keyFile }: Profile,
  left: ReadonlyMap<string, Profile>,
): Promise<void> {
  if (path.dirname(keyFile) !== keysFolder(env)) return
  if ([...left.values()].every((other) => other.keyFile !== keyFile)) await rm(keyFile, { force: true })
}

/**
 * Removes a profile, and its key if `tally login` wrote it.
 * @returns false when there is none
 */
export async function removeProfile(env: NodeJS.ProcessEnv, name: string): Promise<boolean> {
  const profiles = await readProfiles(env)
  const profile = profiles.get(name)
  if (profile === undefined) return false
  profiles.delete(name)
  await writeProfiles(env, profiles)
  await removeKey(env, profile, profiles)
  return true
}

const writeProfiles = (env: NodeJS.ProcessEnv, profiles: ReadonlyMap<string, Profile>): Promise<void> => {
  const stored = Object.fromEntries([...profiles].map(([name, profile]) => [name, toStored(profile)]))
  return writePrivate(profilesFile(env), `${JSON.stringify(stored, undefined, 2)}\n`)
}

/**
 * Writes a file that only its owner can read, at no moment anybody else. It appears whole.
 *
 * @throws StartupError when it cannot be written
 */
export async function writePrivate(file: string, text: string): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    await writeSecretFile(file, text)
  } catch (err) {
    throw new StartupError(`cannot write ${file}: ${messageOf(err)}`)
  }
}

function fromStored({ url, company, mode, key_file: keyFile }: StoredProfile): Profile {
  if ([url, company, mode, keyFile].some((text) => typeof text !== 'string'))
    throw new TypeError('no profile')
  return { url, company, mode, keyFile }
}

const toStored = ({ url, company, mode, keyFile }: Profile): StoredProfile => ({
  url,
  company,
  mode,
  key_file: keyFile,
})

const isAbsent = (err: unknown): boolean => err instanceof Error && 'code' in err && err.code === 'ENOENT'
const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err))
