import { DomainError } from '../../../shared/errors/domain-error.ts'

/** Where an analyst signs in. */
export interface AnalystAddress {
  url: string
  user: string
  password: string
  /** undefined: the user's own */
  database: string | undefined
}

/** An answer over ClickHouse's HTTP protocol. */
export interface Asked {
  /** The code of the exception; undefined when the query was answered. */
  code: number | undefined
  /** The beginning of the answer, or of the error. */
  text: string
  /** Whether Tally's endpoint answered, not a ClickHouse server. */
  isTally: boolean
}

/** The rest of a longer answer is not read, and its query is cancelled. */
const TEXT_CHARACTERS_MAX = 64 * 1_024
/** The time limit of a query. It is shorter than that of analysts. */
const QUERY_S = 5
const ANSWER_MS = 10_000
/** The code of a query that was not answered in time. */
const TIMEOUT_EXCEEDED = 159
/** The code of errors that have none. */
const UNKNOWN_EXCEPTION = 1002

/**
 * Sends one query over HTTP.
 *
 * @throws DomainError when nobody answers
 */
export async function askAsAnalyst(
  { url, user, password, database }: AnalystAddress,
  query: string,
  params: Record<string, string> = {},
): Promise<Asked> {
  const search = new URLSearchParams({
    max_execution_time: String(QUERY_S),
    ...(database === undefined ? {} : { database }),
    ...params,
  })
  // Why not AbortSignal.timeout with AbortSignal.any: Node 20 may collect them while the request runs.
  const abort = new AbortController()
  const timer = setTimeout(() => {
    abort.abort()
  }, ANSWER_MS)
  try {
    const response = await fetch(`${url}?${search.toString()}`, {
      method: 'POST',
      body: query,
      headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
      signal: abort.signal,
    })
    const text = await beginningOf(response)
    const code = response.headers.get('x-clickhouse-exception-code')
    return {
      code: response.ok && code === null ? undefined : Number(code ?? UNKNOWN_EXCEPTION),
      text,
      isTally: response.headers.get('x-clickhouse-server-display-name') === 'Tally',
    }
  } catch (err) {
    if (abort.signal.aborted) return { code: TIMEOUT_EXCEEDED, text: '', isTally: false }
    const why = err instanceof Error && err.cause instanceof Error ? err.cause : err
    throw new DomainError('conflict', `${url} does not answer: ${String(why)}`)
  } finally {
    clearTimeout(timer)
    abort.abort()
  }
}

/** Reads the beginning of an answer. If the answer breaks off, its beginning is enough. */
async function beginningOf(response: Response): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString()
      if (text.length > TEXT_CHARACTERS_MAX) break
    }
  } catch {
    return text
  }
  return text
}
