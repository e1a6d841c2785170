import type { RouteName } from '../../../console/src/app/routes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import type { WatchedPage } from '../use-browser.ts'

/** A state of a page: its address, what is seen once it is there, and what is done before it is looked at. */
interface State {
  path: (world: ConsoleWorld) => string
  seen: string
  prepare?: (tab: WatchedPage) => Promise<void>
}

/** Pages, each in the states that look different. */
export type StatesOf<Name extends RouteName> = Record<Name, Record<string, State>>

/** Clicks a button of the page. */
export const click =
  (name: string) =>
  async ({ page }: WatchedPage) => {
    await page.getByRole('button', { name, exact: true }).click()
  }
