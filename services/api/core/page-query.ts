import type { Request } from 'express'
import type { PageRequest } from '../../../shared/domain/page.ts'

/** The page a request asks for; the validator has checked it and filled in the default limit. */
export function pageOfQuery(req: Pick<Request, 'query'>): PageRequest {
  return pageIn(req.query as unknown as PageQuery)
}

/** The same of a query that has its types. */
export const pageIn = ({ limit, starting_after: startingAfter }: PageQuery): PageRequest => ({
  limit,
  startingAfter,
})

interface PageQuery {
  limit: number
  starting_after?: string
}
