/** Two numbers, not always the smaller one first. */
type Pair = readonly [number, number]

/** Maps a range of values to a range of pixels. A range of one value lies in the middle. */
export const linearScale =
  ([from, to]: Pair, [start, end]: Pair) =>
  (value: number): number => {
    const part = from === to ? 0.5 : (value - from) / (to - from)
    return start * (1 - part) + end * part
  }

interface Bands {
  /** Where a band begins. */
  at: (index: number) => number
  width: number
}

/** Shares of a band's step: what stays free between two bands, and at both ends. */
const [BETWEEN, BESIDE] = [0.25, 0.15]

/** Divides pixels into bands, with room between them where a step has at least so many pixels. */
export function bands(count: number, [start, end]: Pair, spacedFrom: number): Bands {
  const room = end - start
  const isSpaced = room / Math.max(1, count) >= spacedFrom
  const [between, beside] = isSpaced ? [BETWEEN, BESIDE] : [0, 0]
  const step = room / Math.max(1, count - between + 2 * beside)
  const first = start + (room - step * (count - between)) / 2
  return { at: (index) => first + step * index, width: step * (1 - between) }
}

/** Stacks the values of one column: what is above 0 upwards, what is below it downwards. */
export function stacked(values: readonly number[]): Pair[] {
  let [up, down] = [0, 0]
  return values.map((value) => {
    if (value > 0) return [up, (up += value)]
    const top = down
    down += value
    return [down, top]
  })
}
