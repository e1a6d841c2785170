/** The heading of a list that a text narrows. Rows of an earlier question are not said to be those of this one. */
export function listHeading(
  things: 'accounts' | 'customers',
  isNarrowed: boolean,
  isEarlier: boolean,
): string {
  if (isNarrowed || isEarlier)
    return `${things.charAt(0).toUpperCase()}${things.slice(1)}${isEarlier ? '' : ' found'}`
  return `All ${things}`
}
