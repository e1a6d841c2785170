import { DomainError } from '../errors/domain-error.ts'

/** The order of a list by time: the oldest item first, or the newest. */
export type ListOrder = 'oldest' | 'newest'

/** The page that a caller asks for. */
export interface PageRequest {
  limit: number
  /** The id of the last item of the page before. */
  startingAfter?: string | undefined
  /** Lists that have one order only ignore it. Default: the oldest item first. */
  order?: ListOrder | undefined
}

/** One page of a list. */
export interface Page<T> {
  items: T[]
  hasMore: boolean
}

/** Makes a page from the rows of a query whose limit was one row more than `limit`. */
export function pageOf<T>(rows: T[], limit: number): Page<T> {
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

/** The error for a starting_after that names no item of the list. */
export const unknownCursor = (): DomainError =>
  new DomainError('malformed', 'starting_after: no item of this list has that id')
