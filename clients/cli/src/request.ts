import { readFile } from 'node:fs/promises'
import { typedPath } from '../../../shared/config/typed-path.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { timeParser } from '../../core/parse-time.ts'
import type { CliContext } from './cli-context.ts'
import type { CliOperation, Field } from './operation.ts'

/** What was typed for a request. */
export interface TypedRequest {
  /** The values of the path, in their order. */
  path: readonly string[]
  /** The texts of fields, by name. */
  fields: ReadonlyMap<string, string>
  /** Fields that are null. */
  unset: readonly string[]
  /** A file with the whole body, or - for standard input. */
  body?: string | undefined
  idempotencyKey?: string | undefined
}

/** A request, ready for the SDK. */
export interface PreparedRequest {
  path: readonly string[]
  query: Readonly<Record<string, string>>
  /** JSON, whose numbers were never a float. */
  body: Buffer | undefined
  idempotencyKey: string | undefined
}

const BODY_BYTES_MAX = 64 * 1_024 * 1_024

/**
 * Makes a request of what was typed.
 *
 * @throws UsageError when it cannot be one
 * @throws StartupError when a file cannot be read
 */
export async function prepareRequest(
  operation: CliOperation,
  typed: TypedRequest,
  context: Pick<CliContext, 'env' | 'input' | 'now'>,
): Promise<PreparedRequest> {
  requirePath(operation, typed.path)
  requireFields(operation, typed)
  const query: Record<string, string> = {}
  const body = new Map<string, string>()
  for (const [name, text] of typed.fields) {
    const field = fieldOf(operation, name)
    if (field.in === 'query') query[name] = queryText(field, text)
    else body.set(name, await jsonText(field, text, context.env))
  }
  for (const name of typed.unset) {
    if (!fieldOf(operation, name).takesNull)
      throw new UsageError(`--unset ${name}: this field cannot be null`)
    body.set(name, 'null')
  }
  const given = typed.body === undefined ? undefined : await readBody(typed.body, context)
  const bytes = given ?? bodyOf(operation, body)
  const { idempotencyKey } = typed
  return { path: typed.path, query, ...identified(operation, bytes, idempotencyKey, context.now()) }
}

function requirePath({ id, path }: CliOperation, values: readonly string[]): void {
  if (values.length !== path.length)
    throw new UsageError(`${id} needs ${path.join(' and ') || 'no argument'}`)
  for (const [index, value] of values.entries())
    if (value === '' || value === '.' || value === '..')
      throw new UsageError(`${path[index] ?? ''}: ${JSON.stringify(value)} is not an id`)
}

function requireFields(operation: CliOperation, { fields, unset, body }: TypedRequest): void {
  if (body !== undefined && operation.body === 'none') throw new UsageError(`${operation.id} takes no body`)
  const ofBody = [...fields.keys(), ...unset].filter((name) => fieldOf(operation, name).in === 'body')
  if (body !== undefined && ofBody.length > 0)
    throw new UsageError(
      `--body has the whole body, so --${optionName(ofBody[0] ?? '')} cannot be given, too`,
    )
  const missing = operation.fields.filter(
    (field) => field.isRequired && !fields.has(field.name) && (field.in === 'query' || body === undefined),
  )
  if (missing.length === 0) return
  throw new UsageError(`missing: ${missing.map(({ name }) => `--${optionName(name)}`).join(', ')}`)
}

function fieldOf({ id, fields }: CliOperation, name: string): Field {
  const found = fields.find((field) => field.name === name)
  if (found !== undefined) return found
  const names = fields.map((field) => field.name).join(', ')
  throw new UsageError(`${id} has no field ${name}; it has ${names === '' ? 'none' : names}`)
}

/** The name of a field's option, without its dashes. */
export const optionName = (field: string): string => field.replaceAll('_', '-')

/** @throws UsageError when the text is not a value of the field */
function queryText(field: Field, text: string): string {
  if (field.kind === 'time') return secondsOf(field, text)
  if (field.kind === 'integer') return integerOf(field, text)
  if (field.kind === 'boolean') return booleanOf(field, text)
  return choiceOf(field, text)
}

/** Makes the JSON of a field. Numbers stay the digits that were typed. */
async function jsonText(field: Field, text: string, env: NodeJS.ProcessEnv): Promise<string> {
  switch (field.kind) {
    case 'text':
      return JSON.stringify(choiceOf(field, text))
    case 'time':
      return secondsOf(field, text)
    case 'integer':
      return integerOf(field, text)
    case 'boolean':
      return booleanOf(field, text)
    case 'list':
      return JSON.stringify(text.split(',').map((one) => choiceOf(field, one.trim())))
    case 'json':
      return requireJson(text.startsWith('@') ? await readTyped(text.slice(1), env) : text, field.name)
  }
}

const wrong = ({ name }: Field, text: string, what: string) =>
  new UsageError(`--${optionName(name)}: ${JSON.stringify(text)} is not ${what}`)

function choiceOf(field: Field, text: string): string {
  if (field.choices === undefined || field.choices.includes(text)) return text
  throw wrong(field, text, `one of ${field.choices.join(', ')}`)
}

function integerOf(field: Field, text: string): string {
  if (/^(?:0|-?[1-9]\d{0,17})$/.test(text)) return text
  throw wrong(field, text, 'a whole number')
}

function booleanOf(field: Field, text: string): string {
  if (text === 'true' || text === 'false') return text
  throw wrong(field, text, 'true or false')
}

const secondsOf = (field: Field, text: string): string => parseSeconds(`--${optionName(field.name)}`, text)

const parseTime = timeParser('auto', 0)

/**
 * Reads a time, as text such as 2026-11-28T20:30:00Z or as Unix seconds.
 *
 * @returns Unix seconds
 * @throws UsageError when it is not a time
 */
export function parseSeconds(option: string, text: string): string {
  // Other programs find the unit of a number by its digits. The API has only seconds, also of 1970.
  if (/^\d{1,12}$/.test(text)) return text.replace(/^0+(?=\d)/, '')
  const second = parseTime(text)
  if (typeof second === 'number') return String(second)
  // Only the import has that option.
  const fault = second.fault.replace(/; see --time-format$/, '')
  throw new UsageError(`${option}: ${fault}; write it as 2026-11-28T20:30:00Z or in Unix seconds`)
}

function requireJson(text: string, what: string): string {
  try {
    JSON.parse(text)
    return text
  } catch (err) {
    throw new UsageError(`${what} is not JSON: ${err instanceof Error ? err.message : String(err)}`)
  }
}

function bodyOf({ body, fields }: CliOperation, given: ReadonlyMap<string, string>): Buffer | undefined {
  if (body === 'none' || (body === 'optional' && given.size === 0)) return undefined
  if (given.size === 0 && fields.some((field) => field.in === 'body'))
    throw new UsageError('nothing to send: give a field, or --body FILE')
  const pairs = [...given].map(([name, json]) => `${JSON.stringify(name)}:${json}`)
  return Buffer.from(`{${pairs.join(',')}}`)
}

async function readBody(file: string, { env, input }: Pick<CliContext, 'env' | 'input'>): Promise<Buffer> {
  const text = file === '-' ? await readAll(input) : await readTyped(file, env)
  requireJson(text, file === '-' ? 'standard input' : file)
  return Buffer.from(text)
}

const readTyped = (file: string, env: NodeJS.ProcessEnv): Promise<string> =>
  readFile(typedPath(file, env), 'utf8').catch((err: unknown) => {
    throw new StartupError(`cannot read ${file}: ${err instanceof Error ? err.message : String(err)}`)
  })

/** Reads standard input to its end. */
export async function readAll(input: CliContext['input']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > BODY_BYTES_MAX) throw new StartupError(`standard input has more than ${BODY_BYTES_MAX} bytes`)
    chunks.push(part)
  }
  return Buffer.concat(chunks).toString()
}

interface Event {
  occurred_at?: unknown
  idempotency_key?: unknown
}

/**
 * Gives reports what makes their repeats count once. An event gets its key and its time. The events of a whole file are
 * sent as they are; where one has no key or no time, the key of the request stands for all of them.
 */
function identified(
  { id }: CliOperation,
  body: Buffer | undefined,
  idempotencyKey: string | undefined,
  now: number,
): Pick<PreparedRequest, 'body' | 'idempotencyKey'> {
  const isReport = id === 'reportEvent' || id === 'reportEvents'
  if (!isReport || body === undefined || idempotencyKey !== undefined) return { body, idempotencyKey }
  const given = JSON.parse(body.toString()) as (Event & { events?: unknown }) | null
  const events =
    id === 'reportEvent' ? [given] : Array.isArray(given?.events) ? (given.events as Event[]) : []
  if (events.every(hasIdentity)) return { body, idempotencyKey }
  if (id === 'reportEvents') return { body, idempotencyKey: `tally-${crypto.randomUUID()}` }
  return { body: withIdentity(body, given, now), idempotencyKey }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
const hasIdentity = (event: Event | null): boolean =>
  isGiven(event?.occurred_at) && isGiven(event?.idempotency_key)

/** Adds fields at the end of the text, because only there nothing else changes. A field given twice counts last. */
function withIdentity(body: Buffer, event: Event | null, now: number): Buffer {
  const text = body.toString().trimEnd()
  if (event === null || !text.endsWith('}') || Object.keys(event).length === 0) return body
  const added = [
    ...(isGiven(event.occurred_at) ? [] : [`"occurred_at":${now}`]),
    ...(isGiven(event.idempotency_key) ? [] : [`"idempotency_key":"${crypto.randomUUID()}"`]),
  ]
  return Buffer.from(`${text.slice(0, -1)},${added.join(',')}}`)
}
