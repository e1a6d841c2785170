import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { API_ADDRESS_FILE, readDataDir, readPort } from '../../shared/config/common-settings.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { typedPath } from '../../shared/config/typed-path.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { UsageError } from '../../shared/errors/usage-error.ts'
import { Tally } from '../sdk/src/node.ts'
import { type Ask, asking, type Retry } from './ask.ts'
import { numberOption } from './number-option.ts'
import type { ProgramContext } from './program.ts'

/** Options for the connection to Tally, for node's parseArgs. */
export const CONNECTION_OPTIONS = {
  url: { type: 'string' },
  'key-file': { type: 'string' },
  'retry-for': { type: 'string' },
} as const

export interface ConnectionValues {
  url?: string | undefined
  'key-file'?: string | undefined
  'retry-for'?: string | undefined
}

/** The address of Tally, the API key, and how long requests are tried again. */
export interface ConnectionSettings {
  url: string
  apiKey: string
  /** The source of the key, for messages: a file or a variable. */
  keySource: string
  retryForMs: number
}

export interface Connection {
  ask: Ask
  close(): void
}

const DEFAULT_PORT = 8_080
const RETRY_FOR_S = { default: 300, min: 0, max: 86_400 }
const REQUEST_TIMEOUT_MS = 60_000
/** How long the program waits for answers after a signal to stop. */
const LAST_ANSWERS_MS = 5_000

/**
 * Reads the settings of the connection. The key is never read from the command line, where every user of the machine
 * can see it.
 *
 * @param keyFileName the file in DATA_DIR with the key. It is read if neither --key-file nor TALLY_API_KEY is given
 * @throws UsageError when an option is not valid
 * @throws ConfigError when an environment variable is not valid
 * @throws StartupError when the key file cannot be read
 */
export async function readConnection(
  values: ConnectionValues,
  { env, findConnection }: Pick<ProgramContext, 'env' | 'findConnection'>,
  keyFileName: string,
): Promise<ConnectionSettings> {
  const retryForMs = numberOption('retry-for', values['retry-for'], RETRY_FOR_S) * 1_000
  const named = values['key-file']
  if (findConnection !== undefined) {
    const found = await findConnection({ url: values.url, keyFile: named }, keyFileName)
    return { ...found, retryForMs }
  }
  const read = new EnvReader(env)
  const port = readPort(read, 'PORT', 'the port of the HTTP API', 0)
  const dataDir = readDataDir(read)
  const envKey = read.optional('TALLY_API_KEY', { about: 'the API key', secret: true })
  read.done()
  const given = values.url ?? `http://${port > 0 ? `127.0.0.1:${port}` : await readAddress(dataDir)}`
  const url = readUrl(given, '--url')
  if (named === undefined && envKey !== undefined)
    return { url, apiKey: requireKey(envKey, 'TALLY_API_KEY'), keySource: 'TALLY_API_KEY', retryForMs }
  const keyFile = named === undefined ? path.resolve(dataDir, keyFileName) : typedPath(named, env)
  return { url, apiKey: requireKey(await readKey(keyFile), keyFile), keySource: keyFile, retryForMs }
}

/** @throws StartupError when text is not a key */
export function requireKey(text: string, source: string): string {
  const key = text.trim()
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new StartupError(`there is no API key in ${source}`)
}

/** Reads the address of the Tally that uses this data folder; if it is not running, its last address. */
const readAddress = (dataDir: string): Promise<string> =>
  readFile(path.join(dataDir, API_ADDRESS_FILE), 'utf8').then(
    (text) => text.trim(),
    () => `127.0.0.1:${DEFAULT_PORT}`,
  )

/**
 * Reads an address of Tally.
 *
 * @param name what it is called in an error
 * @returns it without a slash at its end
 * @throws UsageError when it is none
 */
export function readUrl(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`${name} must start with http:// or https://, not ${JSON.stringify(text)}`)
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${name} must not contain a password: others can see it`)
  const pathname = url.pathname.replace(/\/+$/, '')
  if (pathname.endsWith('/v2')) throw new UsageError(`${name} must not end in /v2: ${text}`)
  return url.origin + pathname
}

function readKey(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((err: unknown) => {
    throw new StartupError(
      `cannot read the API key in ${file}: start Tally with npm start, name the file with --key-file, or set TALLY_API_KEY`,
      { cause: err },
    )
  })
}

/** Makes the connection to Tally. Nothing is sent yet. */
export function connect(
  { url, apiKey, keySource, retryForMs }: ConnectionSettings,
  connectionsMax: number,
  signal: AbortSignal,
  onRetry: (retry: Retry) => void,
): Connection {
  const tally = new Tally({
    url,
    apiKey,
    maxSockets: connectionsMax,
    timeoutMs: REQUEST_TIMEOUT_MS,
    maxRetries: 0, // Ask sends requests again
  })
  const cutLater = () => {
    setTimeout(() => {
      tally.close()
    }, LAST_ANSWERS_MS).unref()
  }
  signal.addEventListener('abort', cutLater, { once: true })
  return {
    ask: asking({ tally, place: { url, keySource }, retryForMs, signal, onRetry }),
    close: () => {
      signal.removeEventListener('abort', cutLater)
      tally.close()
    },
  }
}
