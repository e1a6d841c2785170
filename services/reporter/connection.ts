import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { httpSender } from './http-sender.ts'
import { numberOption } from './number-option.ts'
import { reportingClient, type Ask, type Retry } from './reporting-client.ts'
import { UsageError } from './usage-error.ts'

/** Options about where Tally is, for node's parseArgs. */
export const CONNECTION_OPTIONS = {
  url: { type: 'string' },
  'key-file': { type: 'string' },
  patience: { type: 'string' },
} as const

export interface ConnectionValues {
  url?: string | undefined
  'key-file'?: string | undefined
  patience?: string | undefined
}

/** Where Tally is, who we are, and how long we try. */
export interface ConnectionSettings {
  baseUrl: URL
  apiKey: string
  patienceMs: number
}

export interface Connection {
  ask: Ask
  close(): void
}

const PORT_MAX = 65_535
const PATIENCE_S = { default: 300, min: 0, max: 86_400 }
const REQUEST_TIMEOUT_MS = 60_000
/** How long answers are waited for once the program is to stop. */
const LAST_ANSWERS_MS = 5_000

/**
 * Reads where Tally is. The key never comes from the command line, where every user of the machine can see it.
 *
 * @param keyFileName the file in DATA_DIR that holds the key unless another is given
 * @throws UsageError, ConfigError, StartupError when there is no key
 */
export async function readConnection(
  values: ConnectionValues,
  env: NodeJS.ProcessEnv,
  keyFileName: string,
): Promise<ConnectionSettings> {
  const read = new EnvReader(env)
  const port = read.integer('PORT', {
    about: 'the port of the HTTP API',
    default: 8_080,
    min: 1,
    max: PORT_MAX,
  })
  const dataDir = read.string('DATA_DIR', { about: 'the folder for data and secrets', default: '.data' })
  const envKey = read.optional('TALLY_API_KEY', { about: 'the API key', secret: true })
  read.done()
  const baseUrl = parseUrl(values.url ?? `http://127.0.0.1:${port}`)
  const patienceMs = numberOption('patience', values.patience, PATIENCE_S) * 1_000
  const named = values['key-file']
  const apiKey =
    named === undefined && envKey !== undefined
      ? envKey
      : await readKey(named ?? path.join(dataDir, keyFileName))
  return { baseUrl, apiKey, patienceMs }
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`--url must start with http:// or https://, not ${JSON.stringify(text)}`)
  return url
}

async function readKey(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    throw new StartupError(
      `cannot read the API key in ${file}: start Tally with npm start, name the file with --key-file, or set TALLY_API_KEY`,
      { cause: err },
    )
  })
  return text.trim()
}

/** Connects to Tally: nothing is sent yet. */
export function connect(
  { baseUrl, apiKey, patienceMs }: ConnectionSettings,
  connectionsMax: number,
  signal: AbortSignal,
  onRetry: (retry: Retry) => void,
): Connection {
  const sender = httpSender({ baseUrl, apiKey, connectionsMax, timeoutMs: REQUEST_TIMEOUT_MS })
  const cutLater = () => {
    setTimeout(() => {
      sender.close()
    }, LAST_ANSWERS_MS).unref()
  }
  signal.addEventListener('abort', cutLater, { once: true })
  return {
    ask: reportingClient({ sender, patienceMs, signal, onRetry }),
    close: () => {
      signal.removeEventListener('abort', cutLater)
      sender.close()
    },
  }
}
