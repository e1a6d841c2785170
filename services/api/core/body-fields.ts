import type { Page } from '../../../shared/domain/page.ts'

/** Fields of resources as answers show them: optional ones without a value are left out, nullable ones are null. */

export const pageToBody = <T>({ items, hasMore }: Page<T>, toBody: (item: T) => object) => ({
  data: items.map((item) => toBody(item)),
  has_more: hasMore,
})

export const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1_000)
export const secondsOrNull = (at: Date | null): number | null => (at === null ? null : secondsOf(at))

/** Without the fields that are null. */
export function present<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
