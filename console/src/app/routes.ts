/** All pages of the console: a name, and the path below /console. */
export const ROUTES = {
  'sign-in': '/sign-in',
  start: '/start',
  overview: '/overview',
  accounts: '/accounts',
  account: '/accounts/:accountId',
  'account-usage': '/accounts/:accountId/usage',
  'account-events': '/accounts/:accountId/events',
  'account-billing': '/accounts/:accountId/billing',
  'account-about': '/accounts/:accountId/about',
  event: '/events/:eventId',
  customers: '/customers',
  customer: '/customers/:customerId',
  metrics: '/metrics',
  metric: '/metrics/:metricId',
  usage: '/usage',
  products: '/billing/products',
  price: '/billing/prices/:priceId',
  'rate-cards': '/billing/rate-cards',
  'rate-card': '/billing/rate-cards/:rateCardId',
  simulate: '/billing/rate-cards/:rateCardId/simulate',
  contracts: '/billing/contracts',
  contract: '/billing/contracts/:contractId',
  preview: '/billing/contracts/:contractId/preview',
  invoices: '/billing/invoices',
  keys: '/keys',
  trail: '/trail',
  test: '/test',
} as const

export type RouteName = keyof typeof ROUTES

type ParametersIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** The parameters of a route's path. */
export type RouteParameters<Name extends RouteName> = Record<ParametersIn<(typeof ROUTES)[Name]>, string>

export type RouteQuery = Readonly<Record<string, string | undefined>>

/** The folder of the console on its origin. */
export const BASE = '/console'

/** The path of a page below the base. Text of others can only become a part between two slashes, or a query. */
export function pathOf<Name extends RouteName>(
  name: Name,
  parameters: RouteParameters<Name>,
  query: RouteQuery = {},
): string {
  const values: Readonly<Record<string, string>> = parameters
  const path = ROUTES[name].replaceAll(/:(\w+)/g, (_, parameter: string) =>
    encodeURIComponent(values[parameter] ?? ''),
  )
  return path + queryText(query)
}

/** Writes a query, without what is undefined. */
export function queryText(query: RouteQuery): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}
