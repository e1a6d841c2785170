import { readFile } from 'node:fs/promises'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import path from 'node:path'
import { readDataDir, readPort } from '../../../shared/config/common-settings.ts'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { typedPath } from '../../../shared/config/typed-path.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'

export interface AnalystValues {
  url?: string | undefined
  database?: string | undefined
  user?: string | undefined
  'password-file'?: string | undefined
}

/** Where an analyst asks, and as whom. */
export interface AnalystSettings {
  url: URL
  database: string | undefined
  user: string
  password: string
  /** The source of the password, for messages. */
  passwordSource: string
}

/** An error that the server answers with. */
export class QueryError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Sends a query. The answer begins when the query has ended, so an error has a code of its own. What it says of its rows
 * is not to be relied on: to the analyst of a company Tally does not say how many there are.
 */
export type AskAnalyst = (
  query: string,
  settings?: Readonly<Record<string, string>>,
) => Promise<IncomingMessage>

const DEFAULT_PORT = 8_123
const DEFAULT_USER = 'analyst'
const PASSWORD_FILE = 'analyst-password'
/** Nothing comes while a query waits for its turn and runs, and each has its limit on the server. */
const SILENCE_MS = 700_000
const ERROR_BYTES_MAX = 64 * 1_024

/**
 * Reads the settings of the connection. The password is never read from the command line, where every user of the
 * machine can see it.
 *
 * @throws UsageError, ConfigError, StartupError when there is no password
 */
export async function readAnalystSettings(
  values: AnalystValues,
  env: NodeJS.ProcessEnv,
): Promise<AnalystSettings> {
  const read = new EnvReader(env)
  const port = readPort(read, 'CLICKHOUSE_HTTP_PORT', "the port of the analysts' endpoint", DEFAULT_PORT)
  const dataDir = readDataDir(read)
  const envUser = read.optional('CLICKHOUSE_USER', { about: 'the analyst' })
  const envPassword = read.optional('CLICKHOUSE_PASSWORD', { about: "the analyst's password", secret: true })
  read.done()
  const url = parseUrl(values.url ?? `http://127.0.0.1:${port === 0 ? DEFAULT_PORT : port}`)
  const settings = { url, database: values.database, user: values.user ?? envUser ?? DEFAULT_USER }
  const named = values['password-file']
  if (named === undefined && envPassword !== undefined)
    return { ...settings, password: envPassword, passwordSource: 'CLICKHOUSE_PASSWORD' }
  const file = named === undefined ? path.resolve(dataDir, PASSWORD_FILE) : typedPath(named, env)
  return { ...settings, password: await readPassword(file), passwordSource: file }
}

/** Formats a URL without a slash at its end, and without its password. */
export const showUrl = ({ protocol, host, pathname }: URL): string =>
  `${protocol}//${host}${pathname.replace(/\/$/, '')}`

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`--url must start with http:// or https://, not ${JSON.stringify(text)}`)
  if (url.username !== '' || url.password !== '')
    throw new UsageError('--url must be without a user and a password: see --user and --password-file')
  return url
}

async function readPassword(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    throw new StartupError(
      `cannot read the password in ${file}: name the file with --password-file, or set CLICKHOUSE_PASSWORD`,
      { cause: err },
    )
  })
  return text.trim()
}

export function connectAsAnalyst(
  { url, database, user, password }: AnalystSettings,
  signal: AbortSignal,
): AskAnalyst {
  const { request } = url.protocol === 'https:' ? https : http
  return async (query, settings = {}) => {
    const target = new URL(url)
    target.search = new URLSearchParams({
      ...(database === undefined ? {} : { database }),
      ...settings,
      wait_end_of_query: '1',
    }).toString()
    const body = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(target, { method: 'POST', auth: `${user}:${password}`, agent: false, signal })
      sent.setTimeout(SILENCE_MS, () => {
        sent.destroy(new Error(`silent for ${SILENCE_MS / 1_000} s`))
      })
      sent.on('error', reject)
      sent.on('response', resolve)
      sent.end(query)
    }).catch((err: unknown) => {
      throw lost(url, err)
    })
    if (body.statusCode !== 200) throw await errorOf(url, body)
    if (body.headers['x-clickhouse-summary'] === undefined) throw notAnEndpoint(url, 'without a summary')
    return body
  }
}

/** The connection is gone, or was never there. */
export const lost = (url: URL, err: unknown): StartupError =>
  new StartupError(
    `cannot reach ${showUrl(url)}, or the connection was lost (${textOf(err)}): run the same command again, and it goes on`,
    { cause: err },
  )

const textOf = (err: unknown): string => {
  if (!(err instanceof Error)) return String(err)
  return err.message !== '' ? err.message : 'code' in err ? String(err.code) : err.name
}

async function errorOf(url: URL, body: IncomingMessage): Promise<Error> {
  let text = ''
  try {
    for await (const part of body) if (text.length < ERROR_BYTES_MAX) text += String(part)
  } catch (err) {
    return lost(url, err)
  }
  const code = Number(body.headers['x-clickhouse-exception-code'])
  const line = text.trim().split('\n')[0] ?? ''
  return Number.isInteger(code)
    ? new QueryError(code, line)
    : notAnEndpoint(url, String(body.statusCode ?? ''))
}

/** It is not ClickHouse that answers. */
export const notAnEndpoint = (url: URL, what: string): StartupError =>
  new StartupError(`${showUrl(url)} answered ${what}: is this the analysts' endpoint?`)

/** Reads a short answer whose lines are JSON arrays. */
export async function readRows<Row extends readonly unknown[]>(
  ask: AskAnalyst,
  url: URL,
  query: string,
): Promise<Row[]> {
  const body = await ask(`${query} FORMAT JSONCompactEachRow`, {
    output_format_json_quote_64bit_integers: '0',
  })
  const parts: Buffer[] = []
  try {
    for await (const part of body) parts.push(part as Buffer)
  } catch (err) {
    throw lost(url, err)
  }
  const text = Buffer.concat(parts).toString()
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}
