import type { ListOrder, PageRequest } from '../../../shared/domain/page.ts'

/** The page that a query asks for. */
export const pageIn = ({ limit, starting_after: startingAfter, order }: PageQuery): PageRequest => ({
  limit,
  startingAfter,
  order,
})

interface PageQuery {
  limit: number
  starting_after?: string
  order?: ListOrder
}
