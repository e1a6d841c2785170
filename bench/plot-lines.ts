export interface Plot {
  title: string
  /** The unit of the values. */
  unit: string
  /** The positions of the values on the horizontal axis, rising; the axis is logarithmic. */
  at: readonly number[]
  lines: readonly { name: string; values: readonly number[] }[]
}

const [WIDTH, HEIGHT] = [640, 360]
const MARGIN = { left: 60, right: 70, top: 40, bottom: 40 }
const COLOURS = ['#1b6ca8', '#c2571a', '#3a7d34', '#7a3b8f']
const TICKS = 5

/** Draws lines as an SVG image. */
export function plotLines({ title, unit, at, lines }: Plot): string {
  const [low, high] = [Math.log10(at[0] ?? 1), Math.log10(at.at(-1) ?? 10)]
  const top = ceilToTick(Math.max(...lines.flatMap(({ values }) => values)))
  const x = (value: number) =>
    MARGIN.left +
    ((Math.log10(value) - low) / Math.max(high - low, 1e-9)) * (WIDTH - MARGIN.left - MARGIN.right)
  const y = (value: number) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom)
  const text = (atX: number, atY: number, words: string, rest = '') =>
    `<text x="${atX.toFixed(1)}" y="${atY.toFixed(1)}" ${rest}>${words}</text>`
  const rules = Array.from({ length: TICKS + 1 }, (_, n) => (top / TICKS) * n).flatMap((value) => [
    `<path d="M${MARGIN.left} ${y(value).toFixed(1)}H${WIDTH - MARGIN.right}" stroke="#ddd"/>`,
    text(MARGIN.left - 8, y(value) + 4, `${Number(value.toPrecision(3))} ${unit}`, 'text-anchor="end"'),
  ])
  const marks = at.map((value) =>
    text(x(value), HEIGHT - MARGIN.bottom + 18, value.toLocaleString('en-US'), 'text-anchor="middle"'),
  )
  const drawn = lines.flatMap(({ name, values }, index) => {
    const colour = COLOURS[index % COLOURS.length] ?? ''
    const points = values.map((value, n) => `${x(at[n] ?? 1).toFixed(1)},${y(value).toFixed(1)}`)
    const end = values.at(-1) ?? 0
    return [
      `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...points.map((point) => {
        const [cx = '', cy = ''] = point.split(',')
        return `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`
      }),
      text(WIDTH - MARGIN.right + 8, y(end) + 4, name, `fill="${colour}"`),
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text(MARGIN.left, 22, title, 'font-size="14"'),
    ...rules,
    ...marks,
    ...drawn,
    '</svg>',
    '',
  ].join('\n')
}

/** The next number of the form 1, 2 or 5 times a power of ten. */
function ceilToTick(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)))
  return power * ([1, 2, 5, 10].find((step) => value <= step * power) ?? 10)
}
