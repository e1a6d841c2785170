import { NotTallyError } from './errors.ts'
import type { Cursor } from './operation-facts.ts'

/** A page of a list. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly has_more: boolean
  /** Gets the next page; undefined after the last one. */
  next(): Promise<Page<T> | undefined>
}

/** What a list answers: a promise of its first page, and all its items one by one. */
export interface Pages<T> extends Promise<Page<T>>, AsyncIterable<T> {}

/** A page as it was received. */
export interface FetchedPage<T> {
  data: readonly T[]
  has_more: boolean
}

/** Gets a page; undefined gets the first one. */
type FetchPage<T> = (after: string | undefined) => Promise<FetchedPage<T>>

/**
 * Makes the answer of a list. Nothing is sent until it is awaited or iterated. The next page is requested when the last
 * item was taken, never ahead.
 */
export function pagesOf<T>(cursor: Cursor, operation: string, fetchPage: FetchPage<T>): Pages<T> {
  const get = async (after: string | undefined): Promise<Page<T>> => {
    const { data, has_more } = await fetchPage(after)
    return { data, has_more, next: async () => (has_more ? get(lastOf(data, after)) : undefined) }
  }
  const lastOf = (data: readonly T[], after: string | undefined): string => {
    const last = data.at(-1)
    const next = last && cursorOf(cursor, last)
    if (next !== undefined && next !== after) return next
    const answer = { status: 200, text: JSON.stringify({ data, has_more: true }) }
    const what = next === undefined ? 'an empty page says' : 'a page that goes no further says'
    throw new NotTallyError(`${what} that there are more`, answer, { operation })
  }
  let first: Promise<Page<T>> | undefined
  const start = () => (first ??= get(undefined))
  return {
    // eslint knows promises by this method; an object that has it can be awaited.
    then: (onValue, onError) => start().then(onValue, onError),
    catch: (onError) => start().catch(onError),
    finally: (onEnd) => start().finally(onEnd),
    [Symbol.toStringTag]: 'Pages',
    async *[Symbol.asyncIterator]() {
      for (let page: Page<T> | undefined = await start(); page !== undefined; page = await page.next())
        yield* page.data
    },
  }
}

function cursorOf(cursor: Cursor, item: Readonly<Record<string, unknown>>): string {
  const fields = cursor === 'refill_key' ? ['account_id', 'metric_id'] : [cursor]
  return fields.map((field) => String(item[field])).join('/')
}
