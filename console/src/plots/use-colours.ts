import { useState } from 'react'
import { type Colours, keepColours } from './prepare/colours.ts'

const NONE: Colours = new Map()

/**
 * The colours of the groups that are shown. A group keeps its colour as long as it is on the page.
 *
 * @param keys the groups; undefined while they are read
 */
export function useColours(keys: readonly string[] | undefined): Colours {
  const [colours, setColours] = useState(NONE)
  const kept = keys === undefined ? colours : keepColours(colours, keys)
  if (kept !== colours) setColours(kept)
  return kept
}
