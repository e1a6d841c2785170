import type { Client } from '../api/client.ts'
import type { Permission } from '../api/contract.ts'
import type { RouteName } from './routes.ts'

/** A page that the menu leads to. It has no parameters. */
export interface MenuEntry {
  route: Extract<
    RouteName,
    | ('start' | 'overview' | 'accounts' | 'customers' | 'metrics' | 'usage')
    | ('products' | 'rate-cards' | 'contracts' | 'invoices' | 'keys' | 'trail' | 'test')
  >
  label: string
  /** The permission that the page needs. A key without it does not see the entry. */
  needs: Permission | undefined
  /** The letter that opens the page after `g`. */
  letter: string
  /** Whether only test companies have the page. */
  isForTests?: boolean
  /** The heading that entries beside each other stand under. */
  section?: string
}

const MENU: readonly MenuEntry[] = [
  { route: 'start', label: 'First steps', needs: undefined, letter: 's' },
  { route: 'overview', label: 'Overview', needs: 'read:all', letter: 'o' },
  { route: 'accounts', label: 'Accounts', needs: 'read:all', letter: 'a' },
  { route: 'customers', label: 'Customers', needs: 'read:all', letter: 'c' },
  { route: 'metrics', label: 'Metrics', needs: 'read:all', letter: 'm' },
  { route: 'usage', label: 'Usage', needs: 'read:all', letter: 'u' },
  { route: 'products', label: 'Products', needs: 'read:all', letter: 'p', section: 'Billing' },
  { route: 'rate-cards', label: 'Rate cards', needs: 'read:all', letter: 'r', section: 'Billing' },
  { route: 'contracts', label: 'Contracts', needs: 'read:all', letter: 'b', section: 'Billing' },
  { route: 'invoices', label: 'Invoices', needs: 'read:all', letter: 'i', section: 'Billing' },
  { route: 'keys', label: 'Keys', needs: 'manage:keys', letter: 'k' },
  { route: 'trail', label: 'Trail', needs: 'manage:keys', letter: 't' },
  { route: 'test', label: 'Test area', needs: 'read:all', letter: 'e', isForTests: true },
]

/** The pages that the key in use may see. */
export const menuOf = (client: Client): readonly MenuEntry[] =>
  MENU.filter(
    ({ needs, isForTests = false }) =>
      (needs === undefined || client.may(needs)) && (!isForTests || client.caller.company.mode === 'test'),
  )
