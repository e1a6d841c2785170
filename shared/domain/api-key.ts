import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Whether a company's data is real (live) or for tests. */
export type Mode = 'live' | 'test'

export const PERMISSIONS = ['read:all', 'write:all', 'manage:keys'] as const
export type Permission = (typeof PERMISSIONS)[number]

/**
 * Who makes a request. The caller and its namespace are found by the key alone, so a key reaches only one namespace.
 */
export interface Caller {
  keyId: string
  companyId: string
  namespaceId: string
  mode: Mode
  permissions: readonly Permission[]
}

/** A caller, as the look-up of a key returns it. */
export interface FoundCaller extends Caller {
  /** Milliseconds from the look-up until the key expires; absent when it does not expire. */
  endsInMs?: number
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^tally_(?:live|test)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/** A new key: a prefix, 190 random bits, and a checksum by which a mistyped key is refused without a look-up. */
export function newApiKey(mode: Mode): string {
  const secret = Array.from({ length: SECRET_LENGTH }, () =>
    ALPHABET.charAt(randomInt(ALPHABET.length)),
  ).join('')
  return `tally_${mode}_${secret}${checksumOf(secret)}`
}

/** Whether a text has the form of a key and a correct checksum. */
export function isApiKey(text: string): boolean {
  const [, secret, checksum] = SHAPE.exec(text) ?? []
  return secret !== undefined && checksumOf(secret) === checksum
}

/** The characters by which the owner recognizes a key; too few to help guessing it. */
export const lastCharactersOf = (key: string): string => key.slice(-4)

/** The digest that is stored instead of the key. */
export const digestOfApiKey = (key: string): Buffer => hash('sha256', key, 'buffer')

function checksumOf(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}
