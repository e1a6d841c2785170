import type { ClickHouseSettings } from '@clickhouse/client'
import { type ChdbResult, type RawInsertParams, Session } from 'chdb'

/** One or several statements, run on a connection that no other query uses at the same time. */
export interface Statement {
  text: string
  /** The only settings that apply; all others have the engine's defaults. */
  settings: ClickHouseSettings
  /** Values of `{name:Type}`, as in ClickHouse's HTTP protocol: text with backslash escapes. */
  params?: Readonly<Record<string, string>>
  /** For a query without a FORMAT clause. */
  format?: string
  /** Runs before this query, in place of the connection's own prelude. */
  prelude?: string
}

export interface ChdbSessionOptions {
  /** The data folder; the engine allows one in a process. */
  folder: string
  /** The engine starts with these when this is the first connection of the process. */
  engineArgs: readonly string[]
  /** Runs once, when the connection opens. */
  setup: string
  /** Runs before each query, for settings that every query must have. */
  prelude?: string
}

/** Settings of ClickHouse's HTTP layer. Clients send some of them, but the engine does not know them. */
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

/** The engine did not open; it writes the reason only to standard error. */
export class FailedOpen extends Error {}

/** After a failure it is not known which settings were set, so all are set again. */
const UNKNOWN = '?'

/**
 * A connection to chDB that remembers what is set on it: chDB keeps settings and parameters until they are set again.
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

  /** Opens a connection; the first one in a process starts the engine, which takes a moment. */
  static async open(options: ChdbSessionOptions): Promise<ChdbSession> {
    const opened = new ChdbSession(options)
    await opened.session.queryAsync(options.setup)
    return opened
  }

  /** Runs statements one after the other and returns what they print. */
  async run({ text, settings, params = {}, format, prelude }: Statement): Promise<ChdbResult> {
    requireParameters(text, params)
    return this.guarded(() => {
      const set = assign([...this.settingStatements(settings), ...parameterStatements(params)])
      // Why no abort signal: it would only reject the promise, while the query goes on and keeps its connection.
      const before = prelude === undefined ? this.prelude : `${prelude}; `
      return this.session.queryAsync(`${before}${set}${text}`, format === undefined ? {} : { format })
    })
  }

  /** Inserts rows as bytes, without a copy as one large JavaScript string. @returns the number of rows written */
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
   * Why a rinse follows each failure: chDB keeps the rows that a failed query had already printed, and puts them
   * before the answer to the next query on the connection.
   */
  private async guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.mustRinse) await this.rinse()
    const before = [...this.settings.keys()]
    try {
      return await work()
    } catch (err) {
      for (const name of [...before, ...this.settings.keys()]) this.settings.set(name, UNKNOWN)
      this.mustRinse = true
      await this.rinse().catch(() => undefined) // the next query tries again, and gets the error
      throw err
    }
  }

  /** Why SET and not SELECT: the time limit of the failed query, which may still apply, does not affect SET. */
  private async rinse(): Promise<void> {
    await this.session.queryAsync('SET max_execution_time = 0')
    this.mustRinse = false
  }

  /** The statements that make exactly these settings apply; remembers them as set. */
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

/** Matches a parameter. Quoted text and comments are matched first, because a brace in them is not a parameter. */
const PARAMETER = /(['"`])(?:\\[^]|(?!\1)[^\\])*(?:\1|\\?$)|--[^\n]*|\/\*[^]*?(?:\*\/|$)|\{\s*(\w+)\s*:/g

/**
 * Requires a value for each parameter of a query. chDB cannot unset parameters: one without a value would have the
 * value from an earlier query.
 *
 * @throws Error like that of the engine
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
