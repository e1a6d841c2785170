import { lineAxis, pixelsOf, type Tick } from './axis.ts'

/** Quantiles in rising order, as decimal text. */
export interface SpreadInput {
  p5: string
  p25: string
  p50: string
  p75: string
  p95: string
}

interface SpreadMarks {
  ticks: readonly Tick[]
  zero: number
  line: { from: number; to: number }
  box: { from: number; to: number }
  median: number
}

const SIDE = 24

/** Turns quantiles into a box on a line. 0 is always on the line, so that more and less are seen apart. */
export function prepareSpread({ p5, p25, p50, p75, p95 }: SpreadInput, width: number): SpreadMarks {
  const [low, high] = [Math.min(0, pixelsOf(p5)), Math.max(0, pixelsOf(p95))]
  const { ticks, toX } = lineAxis(low, high, { left: SIDE, right: Math.max(SIDE + 1, width - SIDE) })
  const at = (text: string) => toX(pixelsOf(text))
  return {
    ticks,
    zero: toX(0),
    line: { from: at(p5), to: at(p95) },
    box: { from: at(p25), to: at(p75) },
    median: at(p50),
  }
}
