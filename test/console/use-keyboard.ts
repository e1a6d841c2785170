import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { until } from '../support/until.ts'

/** More elements than any page has before the one that a person looks for. */
const TABS_MAX = 80

/** What is wrong with the focus; nothing when a person sees where it is. */
const FAULT_OF_FOCUS = `(() => {
  const element = document.activeElement
  if (element === null || element === document.body) return 'it is lost'
  // The ring of a radio button is that of its label's text.
  const seen = element.matches('.choice__radio') ? element.nextElementSibling : element
  const { outlineStyle, outlineWidth } = getComputedStyle(seen)
  const { top, bottom } = seen.getBoundingClientRect()
  const where = element.tagName + ' ' + element.className + ' ' + element.textContent.slice(0, 40)
  if (outlineStyle === 'none' || outlineWidth === '0px') return 'it has no ring: ' + where
  return bottom > 0 && top < innerHeight ? '' : 'it is not in the window: ' + where
})()`

/** A person who has a keyboard and nothing else. */
interface Keyboard {
  /** Presses a key, and then sees the focus once the page has done what it does. */
  press(key: string): Promise<void>
  /** Replaces the text of the field with the focus. */
  type(text: string): Promise<void>
  /** Presses Tab until an element has the focus, or Shift+Tab. */
  tabTo(target: Locator, key?: 'Tab' | 'Shift+Tab'): Promise<void>
  /** Moves the focus to an element by Tab, and presses Enter or another key. */
  use(target: Locator, key?: string): Promise<void>
  /** Waits until the focus is seen, and fails if it is lost. */
  seeFocus(): Promise<void>
  hasFocus(target: Locator): Promise<boolean>
}

/** The keyboard of a page. Its focus must be seen after each step. */
export function keyboardOf(page: () => Page): Keyboard {
  const faultOfFocus = () => page().evaluate<string>(FAULT_OF_FOCUS)
  const hasFocus = async (target: Locator) => (await target.and(page().locator(':focus')).count()) > 0
  const seeFocus = async () => {
    let fault = ''
    await until(async () => (fault = await faultOfFocus()) === '', 3_000).catch(() => {
      expect.fail(`of the focus: ${fault}`)
    })
  }
  const press = async (key: string) => {
    await page().keyboard.press(key)
    await seeFocus()
  }
  const tabTo = async (target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab') => {
    await target.first().waitFor()
    for (let tabs = 0; tabs < TABS_MAX; tabs++) {
      await page().keyboard.press(key)
      const fault = await faultOfFocus()
      // After the last element the browser itself has the focus, until the next Tab.
      expect(fault, target.toString()).to.be.oneOf(['', 'it is lost'])
      if (await hasFocus(target)) return
    }
    expect.fail(`${TABS_MAX} times ${key} do not lead to ${target.toString()}`)
  }
  return {
    press,
    tabTo,
    seeFocus,
    hasFocus,
    async type(text) {
      await page().keyboard.press('Control+A')
      await page().keyboard.type(text)
      await seeFocus()
    },
    async use(target, key = 'Enter') {
      await tabTo(target)
      await press(key)
    },
  }
}
