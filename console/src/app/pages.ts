import { type ComponentType, lazy, type LazyExoticComponent } from 'react'
import type { RouteName, RouteParameters } from './routes.ts'

type PageOf<Name extends RouteName> = LazyExoticComponent<
  ComponentType<{ parameters: RouteParameters<Name> }>
>

/** The page of each route that needs a key, in a file of its own that is loaded when it is shown. */
export const PAGES: { [Name in Exclude<RouteName, 'sign-in'>]: PageOf<Name> } = {
  start: lazy(async () => ({ default: (await import('../pages/start/start-page.tsx')).StartPage })),
  accounts: lazy(async () => ({
    default: (await import('../pages/accounts/accounts-page.tsx')).AccountsPage,
  })),
  account: lazy(async () => ({ default: (await import('../pages/accounts/account-page.tsx')).AccountPage })),
  'account-usage': lazy(async () => ({
    default: (await import('../pages/accounts/account-usage-page.tsx')).AccountUsagePage,
  })),
  'account-events': lazy(async () => ({
    default: (await import('../pages/accounts/account-events-page.tsx')).AccountEventsPage,
  })),
  'account-billing': lazy(async () => ({
    default: (await import('../pages/accounts/account-billing-page.tsx')).AccountBillingPage,
  })),
  'account-about': lazy(async () => ({
    default: (await import('../pages/accounts/account-about-page.tsx')).AccountAboutPage,
  })),
  event: lazy(async () => ({ default: (await import('../pages/accounts/event-page.tsx')).EventPage })),
  overview: lazy(async () => ({
    default: (await import('../pages/overview/overview-page.tsx')).OverviewPage,
  })),
  customers: lazy(async () => ({
    default: (await import('../pages/customers/customers-page.tsx')).CustomersPage,
  })),
  customer: lazy(async () => ({
    default: (await import('../pages/customers/customer-page.tsx')).CustomerPage,
  })),
  metrics: lazy(async () => ({ default: (await import('../pages/metrics/metrics-page.tsx')).MetricsPage })),
  metric: lazy(async () => ({ default: (await import('../pages/metrics/metric-page.tsx')).MetricPage })),
  usage: lazy(async () => ({ default: (await import('../pages/usage/usage-page.tsx')).UsagePage })),
  products: lazy(async () => ({ default: (await import('../pages/prices/products-page.tsx')).ProductsPage })),
  price: lazy(async () => ({ default: (await import('../pages/prices/price-page.tsx')).PricePage })),
  'rate-cards': lazy(async () => ({
    default: (await import('../pages/prices/rate-cards-page.tsx')).RateCardsPage,
  })),
  'rate-card': lazy(async () => ({
    default: (await import('../pages/prices/rate-card-page.tsx')).RateCardPage,
  })),
  simulate: lazy(async () => ({ default: (await import('../pages/prices/simulate-page.tsx')).SimulatePage })),
  contracts: lazy(async () => ({
    default: (await import('../pages/contracts/contracts-page.tsx')).ContractsPage,
  })),
  contract: lazy(async () => ({
    default: (await import('../pages/contracts/contract-page.tsx')).ContractPage,
  })),
  preview: lazy(async () => ({ default: (await import('../pages/contracts/preview-page.tsx')).PreviewPage })),
  invoices: lazy(async () => ({
    default: (await import('../pages/contracts/invoices-page.tsx')).InvoicesPage,
  })),
  keys: lazy(async () => ({ default: (await import('../pages/keys/keys-page.tsx')).KeysPage })),
  trail: lazy(async () => ({ default: (await import('../pages/trail/trail-page.tsx')).TrailPage })),
  test: lazy(async () => ({ default: (await import('../pages/test-area/test-area-page.tsx')).TestAreaPage })),
}
