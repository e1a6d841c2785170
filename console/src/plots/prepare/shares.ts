import { pixelsOf } from './axis.ts'

/** A part of a bar, in pixels from its left. */
export interface Share {
  x: number
  width: number
}

const FRACTION = /^(-?\d+)\/(\d+)$/

/** The pixels of an exact number, which may be a fraction such as `100/31`. */
const valueOf = (text: string): number => {
  const [, numerator, denominator] = FRACTION.exec(text) ?? []
  return numerator === undefined || denominator === undefined
    ? pixelsOf(text)
    : pixelsOf(numerator) / pixelsOf(denominator)
}

/** Cuts a bar into parts as long as some exact numbers, none of them below 0. A bar of nothing has no parts. */
export function prepareShares(values: readonly string[], width: number): Share[] {
  const parts = values.map(valueOf)
  const sum = parts.reduce((total, part) => total + part, 0)
  let before = 0
  return parts.map((part) => {
    const x = sum === 0 ? 0 : (before / sum) * width
    before += part
    return { x, width: sum === 0 ? 0 : (part / sum) * width }
  })
}
