import type { Listing } from './queries/reading.ts'

export interface WalkOptions {
  signal?: AbortSignal | undefined
  /** Called after each page with the number of rows so far. */
  onCount?: (rows: number) => void
}

/**
 * Reads all pages of a list.
 *
 * @throws CallError when a page cannot be read; DOMException when the signal ends the walk
 */
export async function walk<Row>(
  listing: Pick<Listing<Row>, 'fetchPage' | 'idOf'>,
  { signal, onCount }: WalkOptions = {},
): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const last = rows.at(-1)
    const page = await listing.fetchPage(last === undefined ? undefined : listing.idOf(last), signal)
    rows.push(...page.data)
    onCount?.(rows.length)
    if (!page.has_more || page.data.length === 0) return rows
  }
}
