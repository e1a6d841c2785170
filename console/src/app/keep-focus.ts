/** What can get the focus in place of something within it that is gone. */
const PARTS = 'dialog, section, li[aria-labelledby], main'

interface Place {
  element: HTMLElement
  /** What it is called, by which the element that replaces it is known. */
  name: string
  /** What is around it, from within to without. It is noted while the element is on the page. */
  around: readonly HTMLElement[]
}

/**
 * Keeps the place of the keyboard on the page, which the browser gives up when the element with the focus goes away: a
 * button that did its work, or a form that is replaced for the next question. Then the element that replaces it gets the
 * focus, or else the part of the page around it. An element that is disabled for a while gets it back.
 */
export function keepFocus(): void {
  let place: Place | undefined
  let wasDisabled = false
  document.addEventListener('focusin', ({ target }) => {
    wasDisabled = false
    if (target instanceof HTMLElement || target instanceof SVGElement) place = placeOf(target as HTMLElement)
  })
  // Who points at something else means to leave the place.
  document.addEventListener(
    'pointerdown',
    ({ target }) => {
      if (target instanceof Node && place?.element.contains(target) !== true) place = undefined
    },
    true,
  )
  const look = () => {
    if (place === undefined) return
    const { element } = place
    const isDisabled = element.isConnected && element.matches(':disabled')
    wasDisabled ||= isDisabled
    if (isDisabled || document.activeElement !== document.body) return
    if (!element.isConnected) focusInstead(place)
    else if (wasDisabled) element.focus()
  }
  const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ['disabled'] }
  new MutationObserver(look).observe(document.body, changes)
}

function placeOf(element: HTMLElement): Place {
  const around: HTMLElement[] = []
  for (let outer = element.parentElement; outer !== null; outer = outer.parentElement) around.push(outer)
  return { element, name: nameOf(element), around }
}

const nameOf = (element: HTMLElement): string => {
  const labels =
    element instanceof HTMLInputElement || element instanceof HTMLSelectElement ? element.labels : null
  return element.ariaLabel ?? labels?.[0]?.textContent ?? element.textContent
}

function focusInstead({ element, name, around }: Place): void {
  const outer = around.filter(({ isConnected }) => isConnected)
  const replacing = [...(outer[0]?.querySelectorAll<HTMLElement>(element.tagName) ?? [])].find(
    (other) => nameOf(other) === name && !other.matches(':disabled'),
  )
  const part = outer.find((candidate) => candidate.matches(PARTS))
  if (replacing !== undefined) replacing.focus()
  else if (part !== undefined) {
    part.tabIndex = -1
    part.focus({ preventScroll: true })
  }
}
