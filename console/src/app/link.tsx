import type { MouseEvent, ReactNode } from 'react'
import { useLocation } from 'wouter'
import { expectArrival } from './arrivals.ts'
import { BASE, pathOf, type RouteName, type RouteParameters, type RouteQuery } from './routes.ts'

interface LinkProps<Name extends RouteName> {
  to: Name
  parameters: RouteParameters<Name>
  query?: RouteQuery
  children: ReactNode
  className?: string
  isCurrent?: boolean
  onFollow?: () => void
}

/**
 * A link to a page. It takes the name of a route and no URL, so that no text of others can become an address.
 *
 * A new tab is opened here rather than by the browser, because only then the browser copies sessionStorage, where the
 * key is.
 */
export function Link<Name extends RouteName>({
  to,
  parameters,
  query = {},
  children,
  className,
  isCurrent = false,
  onFollow,
}: LinkProps<Name>) {
  const [, navigate] = useLocation()
  const path = pathOf(to, parameters, query)
  const follow = (event: MouseEvent) => {
    const isNewTab = event.ctrlKey || event.metaKey || event.button === 1
    if (event.shiftKey || event.altKey || event.button > 1) return
    event.preventDefault()
    if (isNewTab) window.open(BASE + path)
    else {
      onFollow?.()
      expectArrival()
      navigate(path)
    }
  }
  return (
    <a
      href={BASE + path}
      className={className}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={follow}
      onAuxClick={follow}
    >
      {children}
    </a>
  )
}
