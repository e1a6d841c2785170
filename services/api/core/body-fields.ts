import type { Page } from '../../../shared/domain/page.ts'

/** Fields of resources in answers. Optional fields without a value are left out, nullable ones are null. */

export const pageToBody = <T, Body>({ items, hasMore }: Page<T>, toBody: (item: T) => Body) => ({
  data: items.map((item) => toBody(item)),
  has_more: hasMore,
})

/** Makes the body of a page, with a function that shows one item. */
export const pageOf =
  <T, Body>(toBody: (item: T) => Body) =>
  (page: Page<T>) =>
    pageToBody(page, toBody)

export const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1_000)
/**
 * A company's time and the real time, from one reading of the clock.
 * @param realMs real time
 */
export const clockToBody = (aheadMs: number, realMs = Date.now()) => ({
  now: Math.floor((realMs + aheadMs) / 1_000),
  real_now: Math.floor(realMs / 1_000),
})
export const secondsOrNull = (at: Date | null): number | null => (at === null ? null : secondsOf(at))

/** Leaves out the fields that are null. With a schema as its type argument, it accepts only fields of that schema. */
export const present = <Body extends object>(fields: {
  [Name in keyof Body]?: Body[Name] | null
}): Partial<Body> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<Body>
