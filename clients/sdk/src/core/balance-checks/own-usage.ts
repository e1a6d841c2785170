import { decimals } from '../decimals.ts'

/** Tally counts an event within this time of its acceptance. */
const FRESHNESS_MS = 2_000
/** Usage is added up over so long a time. */
const SLICE_MS = 100

/** Usage of one slice of time. */
export interface Slice {
  startedAt: number
  /** When the last of it was added. */
  endedAt: number
  quantity: string
}

/** Knows up to when usage had reached Tally, at each time of the last seconds. */
export function keptSettlements(nowMs: () => number) {
  let kept: { at: number; upTo: number }[] = []
  return {
    note: (oldestUnsentAgeMs: number): void => {
      const at = nowMs()
      const before = kept.findLast((one) => one.at <= at - FRESHNESS_MS)
      kept = [
        ...kept.filter((one) => one === before || one.at > at - FRESHNESS_MS),
        { at, upTo: at - oldestUnsentAgeMs },
      ]
    },
    /** @returns since when added usage may be missing in a balance that Tally is asked for now */
    lacksFrom: (): number => kept.findLast(({ at }) => at <= nowMs() - FRESHNESS_MS)?.upTo ?? -Infinity,
  }
}

/**
 * Adds usage to the newest slice, or to one of its own. Usage below zero counts only when Tally says so: counted here as
 * well, a balance would be too high for a while.
 */
export function addSlice(added: Slice[], quantity: string, now: number): void {
  if (decimals.isNegative(quantity)) return
  const last = added.at(-1)
  if (last === undefined || now - last.startedAt > SLICE_MS)
    added.push({ startedAt: now, endedAt: now, quantity })
  else {
    last.quantity = decimals.add(last.quantity, quantity)
    last.endedAt = now
  }
}

/**
 * Drops the slices that no balance lacks, and makes one of those that only balances of before may lack.
 *
 * @param earliest since when the known balance and those under way lack usage
 * @param next since when a balance lacks it that is asked for from now on
 */
export function mergeSlices(added: Slice[], earliest: number, next: number): void {
  while (added[0] !== undefined && added[0].endedAt < Math.min(earliest, next)) added.shift()
  for (;;) {
    const [first, second] = added
    if (first === undefined || second === undefined || second.endedAt >= next) return
    added.splice(0, 2, { ...second, quantity: decimals.add(first.quantity, second.quantity) })
  }
}

/**
 * What is left of a balance: too little for a moment, when Tally counted some of the usage already.
 *
 * @param lacksFrom since when usage may be missing in the balance
 */
export const leftOf = (balance: string, lacksFrom: number, added: readonly Slice[]): string =>
  added
    .filter(({ endedAt }) => endedAt >= lacksFrom)
    .reduce((left, { quantity }) => decimals.subtract(left, quantity), balance)
