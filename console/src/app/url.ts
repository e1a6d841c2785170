import { useLocation } from 'wouter'
import { useSearch } from 'wouter/use-browser-location'
import { BASE, queryText, type RouteQuery } from './routes.ts'

/**
 * The query of the page's address, where everything stands that can be linked: range, source, filters.
 *
 * @returns its parameters, and a function that changes some of them; undefined removes one
 */
export function useUrlQuery(): [query: RouteQuery, change: (changes: RouteQuery) => void] {
  const query: RouteQuery = Object.fromEntries(new URLSearchParams(useSearch()))
  const [, navigate] = useLocation()
  const change = (changes: RouteQuery) => {
    // A step back leaves the page. It does not undo each choice on it.
    navigate(pagePath() + queryText({ ...query, ...changes }), { replace: true })
  }
  return [query, change]
}

/** The path of the page below the base, as it stands in the address. */
const pagePath = (): string => window.location.pathname.slice(BASE.length)
