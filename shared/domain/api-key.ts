import { digestOfSecret, isSecret, newSecret } from './random-secret.ts'

/** Whether a company's data is real (live) or for tests. */
export type Mode = 'live' | 'test'

/** The permissions that keys of a company can have. */
export const PERMISSIONS = ['read:all', 'write:all', 'manage:keys'] as const
/** The only permission of an account key, which reads one account. No other key has it. */
export const READ_ACCOUNT = 'read:account' as const
export type Permission = (typeof PERMISSIONS)[number] | typeof READ_ACCOUNT

/**
 * Who makes a request. The caller and its namespace are found by the key alone, so a key reaches only one namespace.
 */
export interface Caller {
  keyId: string
  companyId: string
  namespaceId: string
  mode: Mode
  permissions: readonly Permission[]
  /** The only account that the caller may see; absent for a key of the whole company. */
  accountId?: string
}

/** A caller, as the look-up of a key returns it. */
export interface FoundCaller extends Caller {
  /** Milliseconds from the look-up until the key expires; absent when it does not expire. */
  endsInMs?: number
}

const prefixOf = (mode: Mode, isOfAccount: boolean): string =>
  `tally_${mode}_${isOfAccount ? 'account_' : ''}`

/** All prefixes, and each before those that it begins with. */
const PREFIXES = [true, false].flatMap((isOfAccount) => [
  prefixOf('live', isOfAccount),
  prefixOf('test', isOfAccount),
])

/**
 * A new key. Its prefix tells whether the company is live, and whether it is an account key, which a web page may have.
 */
export const newApiKey = (mode: Mode, isOfAccount = false): string => newSecret(prefixOf(mode, isOfAccount))

/** Whether a text has the form of a key and a correct checksum. */
export const isApiKey = (text: string): boolean => isSecret(text, PREFIXES)

/** The characters by which the owner recognizes a key; too few to help guessing it. */
export const lastCharactersOf = (key: string): string => key.slice(-4)

/** The digest that is stored instead of the key. */
export const digestOfApiKey = digestOfSecret
