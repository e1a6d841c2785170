import {
  keepPreviousData,
  useInfiniteQuery,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import type { ApiRequest } from '../format/curl.ts'
import { type Listing, PAGE_ROWS, type Reading } from './queries/reading.ts'
import { walk } from './walk.ts'

/** What a panel shows of a read. */
export interface Read<T> {
  data: T | undefined
  error: Error | null
  isFetching: boolean
  /** Whether `data` is the answer to an earlier question of this panel. */
  isEarlier: boolean
  /** When `data` came, in milliseconds since 1970. */
  updatedAt: number
  request: ApiRequest
  again: () => void
}

/** A list, with the rows of the pages so far. */
export interface ReadList<Row> extends Read<readonly Row[]> {
  hasMore: boolean
  isFetchingMore: boolean
  more: () => void
}

interface ReadOptions {
  /** Whether an earlier answer stays until the new one comes. */
  keepsEarlier?: boolean
  isEnabled?: boolean
}

interface OneReadOptions<T> extends ReadOptions {
  /** Whether an answer is cheap enough to be read again whenever the window is seen again. */
  mayReadOnFocus?: (data: T) => boolean
}

export function useRead<T>(
  { key, request, staleMs, pollMs, fetch }: Reading<T>,
  { keepsEarlier = false, isEnabled = true, mayReadOnFocus = () => true }: OneReadOptions<T> = {},
): Read<T> {
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => fetch(signal),
    staleTime: staleMs,
    refetchInterval: pollMs ?? false,
    refetchOnWindowFocus: ({ state: { data } }) => data === undefined || mayReadOnFocus(data),
    enabled: isEnabled,
    ...(keepsEarlier ? { placeholderData: keepPreviousData } : {}),
  })
  return {
    data: query.data,
    error: query.error,
    isFetching: query.isFetching,
    isEarlier: query.isPlaceholderData,
    updatedAt: query.dataUpdatedAt,
    request,
    again: () => void query.refetch(),
  }
}

export function useReadList<Row>(
  { key, request, staleMs, pollMs, fetchPage, idOf }: Listing<Row>,
  { keepsEarlier = false, isEnabled = true }: ReadOptions = {},
): ReadList<Row> {
  const query = useInfiniteQuery({
    queryKey: [...key, 'pages'],
    queryFn: async ({ pageParam, signal }) => ({
      ...(await fetchPage(pageParam, signal)),
      readAt: Date.now(),
    }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ data, has_more: hasMore }) => {
      const last = data.at(-1)
      return hasMore && last !== undefined ? idOf(last) : undefined
    },
    staleTime: staleMs,
    // Each time all pages are read, so a list of many is not read again by itself. It says how old it is.
    refetchInterval: ({ state }) => (state.data?.pages.length === 1 && pollMs) || false,
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) <= 1,
    enabled: isEnabled,
    ...(keepsEarlier ? { placeholderData: keepPreviousData } : {}),
  })
  const pages = query.data?.pages
  return {
    data: pages?.flatMap(({ data }) => data),
    error: query.error,
    isFetching: query.isFetching,
    isEarlier: query.isPlaceholderData,
    // A list is as old as its oldest page. The time of the query is that of the page that came last.
    updatedAt: pages === undefined ? 0 : Math.min(...pages.map(({ readAt }) => readAt)),
    request,
    again: () => void query.refetch(),
    hasMore: query.hasNextPage,
    isFetchingMore: query.isFetchingNextPage,
    more: () => void query.fetchNextPage(),
  }
}

/** Reads a whole list. It is for lists that a page needs all of, such as the metrics. */
export function useReadAll<Row>(listing: Listing<Row>, options: ReadOptions = {}): Read<readonly Row[]> {
  const { key, request, staleMs } = listing
  return useRead(
    { key: [...key, 'all'], request, staleMs, fetch: (signal) => walk(listing, { signal }) },
    { ...options, mayReadOnFocus: (rows) => rows.length <= PAGE_ROWS },
  )
}

/** What came of several reads. */
export interface Reads<T> {
  /** The answers that are there, in the order of the readings. */
  data: readonly T[]
  /** What went wrong with the first read that failed. */
  error: Error | null
  isFetching: boolean
  /** Asks again for what failed. */
  again: () => void
}

/** Reads several things at the same time. @param isReadOnFocus whether all are read again when the window is seen again */
export function useReads<T>(readings: readonly Reading<T>[], isReadOnFocus: boolean): Reads<T> {
  const results = useQueries({
    queries: readings.map(({ key, staleMs, fetch }) => ({
      queryKey: key,
      queryFn: ({ signal }: { signal: AbortSignal }) => fetch(signal),
      staleTime: staleMs,
      refetchOnWindowFocus: isReadOnFocus,
    })),
  })
  return {
    data: results.flatMap(({ data }) => (data === undefined ? [] : [data as T])),
    error: results.find(({ error }) => error !== null)?.error ?? null,
    isFetching: results.some(({ isFetching }) => isFetching),
    again: () => {
      for (const { error, refetch } of results) if (error !== null) void refetch()
    },
  }
}

/** Ends a read that is under way. The request to Tally is aborted. */
export function useStop(): (reading: Pick<Reading<unknown>, 'key'>) => void {
  const queries = useQueryClient()
  return ({ key }) => void queries.cancelQueries({ queryKey: key, exact: true })
}
