import type { PageRequest } from '../../../shared/domain/page.ts'

/** The page that a query asks for. */
export const pageIn = ({ limit, starting_after: startingAfter }: PageQuery): PageRequest => ({
  limit,
  startingAfter,
})

interface PageQuery {
  limit: number
  starting_after?: string
}
