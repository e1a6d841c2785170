import type { ApiRequest } from '../../format/curl.ts'
import type { Client } from '../client.ts'
import type { ReadAnswer, ReadPath, ReadQuery } from '../contract.ts'

/** A read of the API. Only the files in this folder name the operations that read. */
export interface Reading<T> {
  /** The company first, so that nothing of one company is shown to another. */
  key: readonly unknown[]
  request: ApiRequest
  /** How long an answer counts as fresh. */
  staleMs: number
  /** How often it is asked again while the page is seen. */
  pollMs?: number
  fetch: (signal?: AbortSignal) => Promise<T>
}

interface Page<Row> {
  data: readonly Row[]
  has_more: boolean
}

/** A list of the API, page by page. */
export interface Listing<Row> {
  key: readonly unknown[]
  /** The request of the first page. */
  request: ApiRequest
  staleMs: number
  /** How often it is asked again while the page is seen and has one page of it. */
  pollMs?: number
  fetchPage: (after: string | undefined, signal?: AbortSignal) => Promise<Page<Row>>
  /** What the next page starts after. */
  idOf: (row: Row) => string
}

type ListPath = {
  [Path in ReadPath]: ReadAnswer<Path> extends { data: readonly unknown[]; has_more: boolean } ? Path : never
}[ReadPath]
type RowOf<Path extends ListPath> = ReadAnswer<Path> extends { data: readonly (infer Row)[] } ? Row : never

type PathParameters = Readonly<Record<string, string>>

/** Usage and balances change all the time. */
export const FRESH_MS = 5_000
/** Resources change rarely, and after a write they are read again. */
export const RESOURCE_MS = 60_000
export const POLL_MS = 5_000
/** How often the page asks for what somebody waits for. */
export const AWAIT_MS = 1_000
export const PAGE_ROWS = 100

function targetOf(path: string, parameters: PathParameters, query: object): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(parameters[name] ?? ''),
  )
  const words = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`)
  return words.length === 0 ? filled : `${filled}?${words.join('&')}`
}

/** A read of one operation. */
export function reading<Path extends ReadPath>(
  client: Client,
  path: Path,
  parameters: PathParameters,
  query: ReadQuery<Path> | Record<string, never>,
  times: { staleMs: number; pollMs?: number },
): Reading<ReadAnswer<Path>> {
  const request: ApiRequest = { method: 'GET', target: targetOf(path, parameters, query) }
  return {
    key: [client.caller.company.id, path, request.target],
    request,
    ...times,
    fetch: async (signal) => (await client.call(request, signal)) as ReadAnswer<Path>,
  }
}

/** A list of one operation. @param idOf the value that `starting_after` takes */
export function listing<Path extends ListPath>(
  client: Client,
  path: Path,
  parameters: PathParameters,
  query: object,
  idOf: (row: RowOf<Path>) => string,
  times: { staleMs: number; pollMs?: number } = { staleMs: RESOURCE_MS },
): Listing<RowOf<Path>> {
  const requestAfter = (after: string | undefined): ApiRequest => ({
    method: 'GET',
    target: targetOf(path, parameters, { ...query, limit: PAGE_ROWS, starting_after: after }),
  })
  const request = requestAfter(undefined)
  return {
    key: [client.caller.company.id, path, request.target],
    request,
    ...times,
    idOf,
    fetchPage: async (after, signal) => (await client.call(requestAfter(after), signal)) as Page<RowOf<Path>>,
  }
}

export const byId = ({ id }: { id: string }): string => id
