/** Where a key moves a cursor over the marks of a plot: left, right, to an end, or away. */
export function moveCursor(key: string, cursor: number | undefined, count: number): number | undefined {
  const last = count - 1
  if (last < 0) return undefined
  switch (key) {
    case 'ArrowLeft':
      return cursor === undefined ? last : Math.max(0, cursor - 1)
    case 'ArrowRight':
      return cursor === undefined ? 0 : Math.min(last, cursor + 1)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'Escape':
      return undefined
    default:
      return cursor
  }
}
