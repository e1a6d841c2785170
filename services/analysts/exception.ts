/** The errors of ClickHouse that Tally itself raises, by name. */
const CODES = {
  BAD_ARGUMENTS: 36,
  UNKNOWN_FUNCTION: 46,
  NOT_IMPLEMENTED: 48,
  UNKNOWN_TYPE: 50,
  SYNTAX_ERROR: 62,
  UNKNOWN_FORMAT: 73,
  UNKNOWN_DATABASE: 81,
  TIMEOUT_EXCEEDED: 159,
  TOO_BIG_AST: 168,
  REQUIRED_PASSWORD: 194,
  TOO_MANY_SIMULTANEOUS_QUERIES: 202,
  QUERY_IS_TOO_LARGE: 229,
  ABORTED: 236,
  ZLIB_INFLATE_FAILED: 354,
  QUERY_WAS_CANCELLED: 394,
  TOO_MANY_ROWS_OR_BYTES: 396,
  UNKNOWN_QUERY_PARAMETER: 456,
  ACCESS_DENIED: 497,
  AUTHENTICATION_FAILED: 516,
  UNKNOWN_EXCEPTION: 1002,
} as const

/** ClickHouse's own mapping (exceptionCodeToHTTPStatus); every other code has the status 500. */
const STATUS: readonly (readonly [status: number, codes: readonly number[]])[] = [
  [401, [194]],
  [403, [192, 193, 497, 512, 516]],
  [
    400,
    [
      6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675,
      676,
    ],
  ],
  [404, [46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511]],
  [408, [159]],
  [411, [381]],
  [413, [229]],
  [415, [779]],
  [501, [48]],
  [503, [76, 209, 439]],
]

/** Longer messages are cut, because they repeat a whole query. */
const MESSAGE_CHARACTERS_MAX = 4_000

/** An error with the code, the name and the HTTP status that ClickHouse gives it. */
export class ClickHouseException extends Error {
  readonly code: number
  readonly type: string

  constructor(type: keyof typeof CODES | [code: number, type: string], message: string) {
    super(message.length > MESSAGE_CHARACTERS_MAX ? `${message.slice(0, MESSAGE_CHARACTERS_MAX)}…` : message)
    this.name = 'ClickHouseException'
    ;[this.code, this.type] = typeof type === 'string' ? [CODES[type], type] : type
  }

  get status(): number {
    return STATUS.find(([, codes]) => codes.includes(this.code))?.[0] ?? 500
  }

  /** The text of the error as a server writes it. */
  toText(version: string): string {
    return `Code: ${this.code}. DB::Exception: ${this.message} (${this.type}) (version ${version})\n`
  }
}

/**
 * The beginning and the end of an engine's error. Between them a whole query may be repeated, so only these are
 * searched.
 */
const BEGINNING = /^(?:Code: (\d+)\. DB::\w*Exception: )+/
const ENDING = /(?: \(version [^)]{1,100}\)\.?)?(?: \(([A-Z][A-Z0-9_]{2,80})\))?\.?$/
const ENDING_CHARACTERS_MAX = 200

/** TOO_MANY_ROWS and TOO_MANY_BYTES. Their texts tell how much was read, of the usage of all companies. */
const TOO_MUCH_READ = new Set([158, 307])
const READ_SO_FAR = /, current (?:rows|bytes): [\d.]+(?: [A-Za-z]+)?/g

/**
 * Parses an error of the engine. Returns undefined for any other error: that is a bug of Tally, and its text belongs
 * only in the log.
 */
export function exceptionOfEngine(err: unknown): ClickHouseException | undefined {
  if (!(err instanceof Error)) return undefined
  const text = err.message.trim()
  const [beginning = '', code] = BEGINNING.exec(text.slice(0, MESSAGE_CHARACTERS_MAX)) ?? []
  if (code === undefined) return undefined
  const start = Math.max(beginning.length, text.length - ENDING_CHARACTERS_MAX)
  let ending = text.slice(start)
  let type: string | undefined
  // Some errors have their name and the version twice.
  for (let match = ENDING.exec(ending); match !== null && match[0] !== ''; match = ENDING.exec(ending)) {
    type ??= match[1]
    ending = ending.slice(0, match.index)
  }
  const message = text.slice(beginning.length, start) + ending
  return new ClickHouseException(
    [Number(code), type ?? 'UNKNOWN_EXCEPTION'],
    TOO_MUCH_READ.has(Number(code)) ? message.replaceAll(READ_SO_FAR, '') : message,
  )
}
