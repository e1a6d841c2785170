/** The most series that have a colour of their own. */
export const COLOURS = 8

/** The number of the colour of each group, from 1, by the group's key. */
export type Colours = ReadonlyMap<string, number>

/**
 * Gives each group a colour. A group that had one keeps it, whatever its rank is now; a group that is new gets one that
 * is free.
 *
 * @param before the colours so far
 * @param keys the groups that are shown now; those beyond the last colour get none
 * @returns `before` itself if nothing changes
 */
export function keepColours(before: Colours, keys: readonly string[]): Colours {
  const shown = keys.slice(0, COLOURS)
  if (shown.length === before.size && shown.every((key) => before.has(key))) return before
  const kept = new Set(shown.flatMap((key) => before.get(key) ?? []))
  const free = Array.from({ length: COLOURS }, (_, index) => index + 1).filter((colour) => !kept.has(colour))
  return new Map(shown.map((key) => [key, before.get(key) ?? free.shift() ?? COLOURS]))
}
