/**
 * Yields the pages of a list, none of them empty.
 *
 * @param list lists at most `atOnce` entries that follow an entry
 * @param signal ends it before the next page
 */
export async function* pagesOf<T>(
  list: (after?: T) => Promise<T[]>,
  atOnce: number,
  signal?: AbortSignal,
): AsyncGenerator<T[]> {
  for (let after: T | undefined; ;) {
    signal?.throwIfAborted()
    const page = await list(after)
    if (page.length > 0) yield page
    if (page.length < atOnce) return
    after = page.at(-1)
  }
}
