import { createHmac, timingSafeEqual } from 'node:crypto'

/** A value as it was found, and when. */
interface Dated {
  value: string
  /** Milliseconds of the database's clock. */
  asOf: number
}

/** Whoever can write to Redis must not be able to say who a key belongs to: only values with our signature are read. */
export interface Signer {
  sign(name: string, dated: Dated): string
  /** @returns undefined unless the text was signed for this very name */
  open(name: string, text: string): Dated | undefined
}

const SHAPE = /^([\w-]{43})\.(\d{1,16})\.([^]*)$/

/** @param secret known to the processes of this installation alone */
export function openSigner(secret: Buffer): Signer {
  const signatureOf = (name: string, asOf: string, value: string) =>
    createHmac('sha256', secret)
      .update(JSON.stringify(['tally v1', name, asOf, value]))
      .digest()
  return {
    sign(name, { value, asOf }) {
      const time = String(Math.floor(asOf))
      return `${signatureOf(name, time, value).toString('base64url')}.${time}.${value}`
    },
    open(name, text) {
      const [, signature = '', asOf = '', value = ''] = SHAPE.exec(text) ?? []
      const expected = signatureOf(name, asOf, value)
      const given = Buffer.from(signature, 'base64url')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      return { value, asOf: Number(asOf) }
    },
  }
}
