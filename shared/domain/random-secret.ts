import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/** A new secret: a prefix, 190 random bits, and a checksum by which a mistyped one is refused without a look-up. */
export function newSecret(prefix: string): string {
  const secret = Array.from({ length: SECRET_LENGTH }, () =>
    ALPHABET.charAt(randomInt(ALPHABET.length)),
  ).join('')
  return `${prefix}${secret}${checksumOf(secret)}`
}

/** Whether a text has the form of a secret with one of these prefixes, and a correct checksum. */
export function isSecret(text: string, prefixes: readonly string[]): boolean {
  const prefix = prefixes.find((one) => text.startsWith(one))
  const [, secret, checksum] = SHAPE.exec(prefix === undefined ? '' : text.slice(prefix.length)) ?? []
  return secret !== undefined && checksumOf(secret) === checksum
}

/** What is stored instead of a secret. A plain SHA-256 is enough, because nobody can try 190 random bits. */
export const digestOfSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

function checksumOf(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}
