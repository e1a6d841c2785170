import type { Permission } from '../api/contract.ts'
import type { RouteName } from './routes.ts'

/** A page that the menu leads to. It has no parameters. */
export interface MenuEntry {
  route: Extract<RouteName, 'start' | 'accounts'>
  label: string
  /** The permission that the page needs. A key without it does not see the entry. */
  needs: Permission | undefined
  /** The letter that opens the page after `g`. */
  letter: string
}

export const MENU: readonly MenuEntry[] = [
  { route: 'start', label: 'First steps', needs: undefined, letter: 's' },
  { route: 'accounts', label: 'Accounts', needs: 'read:all', letter: 'a' },
]
