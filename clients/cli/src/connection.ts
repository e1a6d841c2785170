import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { API_ADDRESS_FILE, readDataDir } from '../../../shared/config/common-settings.ts'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { typedPath } from '../../../shared/config/typed-path.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { readUrl, requireKey } from '../../core/connection.ts'
import { Tally } from '../../sdk/src/node.ts'
import type { GlobalOptions } from './cli-context.ts'
import { DEFAULT_PROFILE, type Profile, readProfiles, requireProfileName } from './profiles.ts'

/** What the address is called in an error: it may come from several places. */
export const ADDRESS = 'the address'

/** Where Tally is, and the key for it. */
export interface Connection {
  url: string
  apiKey: string
  /** For messages: a file or a variable. */
  keySource: string
}

/** The file of the first company's key, in the folder of a Tally on this machine. */
const DATA_DIR_KEY = 'api-key'

/** What options name. */
interface Named {
  url?: string | undefined
  keyFile?: string | undefined
  profile?: string | undefined
}

interface Key {
  source: string
  read: () => Promise<string>
}

interface Source {
  url?: string | undefined
  /** Undefined when this source has no key. */
  key?: Key | undefined
  /**
   * Whether the key is only for the address of this source. The keys of profiles and folders are: another server must
   * not get them.
   */
  isBound: boolean
}

/**
 * Finds the address of Tally and the key: in options, then in the environment, then in a profile, then in the folder of
 * a Tally on this machine. A key of a profile is sent to the address of that profile only. No key is ever on a command
 * line, because every user of a machine can read those.
 *
 * @param dataDirKey the file with the key in the folder of a Tally on this machine
 * @throws StartupError when there is no address or no key
 */
export async function findConnection(
  options: Named,
  env: NodeJS.ProcessEnv,
  dataDirKey = DATA_DIR_KEY,
): Promise<Connection> {
  const sources = await listSources(options, env, dataDirKey)
  const url = sources.map((source) => source.url).find((one) => one !== undefined)
  if (url === undefined) throw new StartupError('not logged in: run tally login --url URL, or set TALLY_URL')
  const address = readUrl(url, ADDRESS)
  const fitting = sources.find(
    (source) =>
      source.key !== undefined &&
      (!source.isBound || (source.url !== undefined && readUrl(source.url, ADDRESS) === address)),
  )
  if (fitting?.key === undefined)
    throw new StartupError(
      `there is no key for ${address}: run tally login --url ${address}, or give --key-file`,
    )
  return { url: address, apiKey: await fitting.key.read(), keySource: fitting.key.source }
}

/** Makes the client of a command. */
export const openClient = async (options: GlobalOptions, env: NodeJS.ProcessEnv): Promise<Tally> =>
  new Tally(await findConnection(options, env))

async function listSources(options: Named, env: NodeJS.ProcessEnv, dataDirKey: string): Promise<Source[]> {
  const { url, keyFile } = options
  const profiles = await readProfiles(env)
  const named = options.profile === undefined ? [] : [profileSource(profiles, options.profile)]
  const envUrl = textOf(env, 'TALLY_URL')
  const envKey = textOf(env, 'TALLY_API_KEY')
  const envProfile = textOf(env, 'TALLY_PROFILE')
  const standard = profiles.get(DEFAULT_PROFILE)
  return [
    {
      url,
      key: keyFile === undefined ? undefined : keyIn(typedPath(keyFile, env)),
      isBound: false,
    },
    ...named,
    {
      url: envUrl,
      key:
        envKey === undefined ? undefined : { source: 'TALLY_API_KEY', read: () => Promise.resolve(envKey) },
      // The two belong together. A key that came without an address is for any.
      isBound: envUrl !== undefined,
    },
    ...(envProfile === undefined ? [] : [profileSource(profiles, envProfile)]),
    ...(standard === undefined ? [] : [sourceOf(standard)]),
    await dataDirSource(env, dataDirKey),
  ]
}

function profileSource(profiles: ReadonlyMap<string, Profile>, name: string): Source {
  const profile = profiles.get(requireProfileName(name))
  if (profile === undefined)
    throw new StartupError(`there is no profile ${name}: run tally login --url URL --profile ${name}`)
  return sourceOf(profile)
}

const sourceOf = ({ url, keyFile }: Profile): Source => ({
  url,
  key: keyIn(keyFile),
  isBound: true,
})

const keyIn = (file: string): Key => ({ source: file, read: () => readKeyFile(file) })

async function dataDirSource(env: NodeJS.ProcessEnv, keyFileName: string): Promise<Source> {
  const read = new EnvReader(env)
  const folder = path.resolve(readDataDir(read))
  read.done()
  const address = await readFile(path.join(folder, API_ADDRESS_FILE), 'utf8').catch(() => undefined)
  if (address === undefined) return { isBound: true }
  return {
    url: `http://${address.trim()}`,
    key: keyIn(path.join(folder, keyFileName)),
    isBound: true,
  }
}

const textOf = (env: NodeJS.ProcessEnv, name: string): string | undefined => {
  const text = env[name]
  return text === '' ? undefined : text
}

/** @throws StartupError when it has no key */
export async function readKeyFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    throw new StartupError(
      `cannot read the key: ${err instanceof Error ? err.message : String(err)}; log in again with tally login, or give --key-file`,
    )
  })
  return requireKey(text, file)
}
