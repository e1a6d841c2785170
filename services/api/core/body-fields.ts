import type { Page } from '../../../shared/domain/page.ts'

/** Fields of resources as answers show them: optional ones without a value are left out, nullable ones are null. */

export const pageToBody = <T, Body>({ items, hasMore }: Page<T>, toBody: (item: T) => Body) => ({
  data: items.map((item) => toBody(item)),
  has_more: hasMore,
})

/** How a page is shown whose items are shown so. */
export const pageOf =
  <T, Body>(toBody: (item: T) => Body) =>
  (page: Page<T>) =>
    pageToBody(page, toBody)

export const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1_000)
/** What time it is for a company, and what time it is, by one look at a clock. @param realMs real time */
export const clockToBody = (aheadMs: number, realMs = Date.now()) => ({
  now: Math.floor((realMs + aheadMs) / 1_000),
  real_now: Math.floor(realMs / 1_000),
})
export const secondsOrNull = (at: Date | null): number | null => (at === null ? null : secondsOf(at))

/** Without the fields that are null. With a schema as its type it takes none that the schema does not have. */
export const present = <Body extends object>(fields: {
  [Name in keyof Body]?: Body[Name] | null
}): Partial<Body> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<Body>
