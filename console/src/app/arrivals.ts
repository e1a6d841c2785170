let isExpected = false

/** Notes that another page is about to be shown. */
export function expectArrival(): void {
  isExpected = true
}

/** Focuses the heading of a page that was reached by a link, so that a screen reader says which page it is. */
export function focusOnArrival(heading: HTMLHeadingElement | null): void {
  if (heading === null || !isExpected) return
  isExpected = false
  heading.focus({ preventScroll: true })
  window.scrollTo(0, 0)
}
