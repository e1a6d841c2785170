import type { ClickHouseSettings } from '@clickhouse/client'
import { type ChdbResult, type RawInsertParams, Session } from 'chdb'

/** One or several statements, run on a connection that no other query uses meanwhile. */
export interface Statement {
  text: string
  /** Exactly these are in force, and the engine's defaults for the rest. */
  settings: ClickHouseSettings
  /** Values of `{name:Type}`, as ClickHouse's HTTP protocol has them: text with backslash escapes. */
  params?: Readonly<Record<string, string>>
  /** For a query without a FORMAT clause. */
  format?: string
}

export interface ChdbSessionOptions {
  /** The data folder; one a process, as the engine demands. */
  folder: string
  /** What the engine is started with when this is the first connection of the process. */
  engineArgs: readonly string[]
  /** Run once, when the connection opens. */
  setup: string
  /** Run before each query too: what no query may be without. */
  prelude?: string
}

/** Settings of ClickHouse's HTTP layer; clients send some of them, and the engine does not know them. */
const HTTP_ONLY = new Set([
  'wait_end_of_query',
  'buffer_size',
  'http_response_buffer_size',
  'enable_http_compression',
  'http_zlib_compression_level',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'default_format',
])

/** The engine did not open; it tells nobody but standard error why. */
export class FailedOpen extends Error {}

/** After a failure it is not known which settings took: all are set again. */
const UNKNOWN = '?'

/**
 * A connection to chDB that remembers what is set on it: chDB keeps settings and parameters until they are set anew.
 */
export class ChdbSession {
  private readonly session: Session
  private readonly prelude: string
  private settings = new Map<string, string>()
  private mustRinse = false

  private constructor({ folder, engineArgs, prelude }: ChdbSessionOptions) {
    try {
      this.session = new Session(folder, { connectionArgs: engineArgs })
    } catch (err) {
      throw new FailedOpen(`no connection to the engine in ${folder}`, { cause: err })
    }
    this.prelude = prelude === undefined ? '' : `${prelude}; `
  }

  /** Opens a connection; the first of a process starts the engine, which takes a moment. */
  static async open(options: ChdbSessionOptions): Promise<ChdbSession> {
    const opened = new ChdbSession(options)
    await opened.session.queryAsync(options.setup)
    return opened
  }

  /** Runs statements one after the other and gives what they print. */
  async run({ text, settings, params = {}, format }: Statement): Promise<ChdbResult> {
    requireParameters(text, params)
    return this.guarded(() => {
      const set = assign([...this.settingStatements(settings), ...parameterStatements(params)])
      // Why no abort signal: it would only reject here, while the query goes on and keeps its connection.
      return this.session.queryAsync(`${this.prelude}${set}${text}`, format === undefined ? {} : { format })
    })
  }

  /** Inserts rows as they are: no copy into one large JavaScript string. @returns the number of rows written */
  insertRaw(params: RawInsertParams, settings: ClickHouseSettings): Promise<number> {
    return this.guarded(async () => {
      const set = `${this.prelude}${assign(this.settingStatements(settings))}`
      if (set !== '') await this.session.queryAsync(set)
      return (await this.session.insert(params)).rowsWritten
    })
  }

  close(): void {
    this.session.close()
  }

  /**
   * Why it is rinsed after each failure: chDB keeps the rows a failed query had already printed, and puts them in front
   * of the answer to the next one on the connection (measured: 1,688,890 bytes of another query before a `1`).
   */
  private async guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.mustRinse) await this.rinse()
    const before = [...this.settings.keys()]
    try {
      return await work()
    } catch (err) {
      for (const name of [...before, ...this.settings.keys()]) this.settings.set(name, UNKNOWN)
      this.mustRinse = true
      await this.rinse().catch(() => undefined) // it is tried again before the next query, whose error it then is
      throw err
    }
  }

  /** Why SET and not SELECT: a time limit of the failed query, which may still be in force, does not touch it. */
  private async rinse(): Promise<void> {
    await this.session.queryAsync('SET max_execution_time = 0')
    this.mustRinse = false
  }

  /** What must be set anew so that exactly these settings are in force; remembers them as set. */
  private settingStatements(wanted: ClickHouseSettings): string[] {
    const statements: string[] = []
    const texts = new Map<string, string>()
    for (const [name, value] of Object.entries(wanted)) {
      if (value === undefined || HTTP_ONLY.has(name)) continue
      requireName(name)
      texts.set(name, typeof value === 'string' ? quoteText(value) : String(Number(value)))
    }
    for (const name of this.settings.keys()) if (!texts.has(name)) statements.push(`${name} = DEFAULT`)
    for (const [name, text] of texts)
      if (this.settings.get(name) !== text) statements.push(`${name} = ${text}`)
    this.settings = texts
    return statements
  }
}

const assign = (statements: readonly string[]): string =>
  statements.length === 0 ? '' : `SET ${statements.join(', ')}; `

function parameterStatements(params: Readonly<Record<string, string>>): string[] {
  return Object.entries(params).map(([name, value]) => {
    requireName(name)
    return `param_${name} = ${quoteText(value)}`
  })
}

/** A parameter; what is quoted or a comment goes first, because a brace in it is none. */
const PARAMETER = /(['"`])(?:\\[^]|(?!\1)[^\\])*(?:\1|\\?$)|--[^\n]*|\/\*[^]*?(?:\*\/|$)|\{\s*(\w+)\s*:/g

/**
 * Why: chDB cannot unset a parameter, so that one which was forgotten would have its value from an earlier query.
 *
 * @throws Error as the engine would
 */
function requireParameters(text: string, params: Readonly<Record<string, string>>): void {
  for (const [, , name] of text.matchAll(PARAMETER))
    if (name !== undefined && !Object.hasOwn(params, name))
      throw new Error(
        `Code: 456. DB::Exception: Substitution \`${name}\` is not set. (UNKNOWN_QUERY_PARAMETER)`,
      )
}

function requireName(name: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new Error(`not a name for a setting or parameter: ${JSON.stringify(name)}`)
}

const quoteText = (text: string): string => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`

/** Quotes a name of a database, table or column. */
export const quoteIdentifier = (name: string): string =>
  `\`${name.replace(/\\/g, '\\\\').replace(/`/g, '\\`')}\``
