const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const FULL = '█'

/**
 * Draws amounts as bars, in eighths of a column, with whole numbers only. The largest amount has the whole width. An
 * amount above zero has at least the thinnest bar, one below zero has none: the figure beside it says what it is.
 *
 * @param amounts decimal text
 */
export function barsOf(amounts: readonly string[], width: number): string[] {
  const places = Math.max(0, ...amounts.map((amount) => (amount.split('.')[1] ?? '').length))
  const units = amounts.map((amount) => unitsOf(amount, places))
  const largest = units.reduce((max, unit) => (unit > max ? unit : max), 0n)
  return units.map((unit) => {
    if (unit <= 0n) return ''
    const eighths = Number((unit * BigInt(width * 8)) / largest) // at most eight times the width
    return FULL.repeat(eighths >> 3) + (EIGHTHS[eighths === 0 ? 1 : eighths & 7] ?? '')
  })
}

function unitsOf(amount: string, places: number): bigint {
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(places, '0'))
}
