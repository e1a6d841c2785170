import { crc32 } from 'node:zlib'

const LINE = /^1 ([0-9a-f]{8}) ([^]*)$/

const checksum = (json: string | Buffer): string => crc32(json).toString(16).padStart(8, '0')

/** Makes a line of a spool: the version, a checksum, JSON. */
export const spoolLine = (json: string): string => `1 ${checksum(json)} ${json}\n`

/** Reads the JSON of lines. Those that a disk changed, or a crash cut off, are returned byte for byte. */
export function readLines(bytes: Buffer): { whole: string[]; damaged: Buffer[] } {
  const whole: string[] = []
  const damaged: Buffer[] = []
  // In latin1, each byte is a character.
  for (const line of bytes.toString('latin1').split('\n')) {
    const [, sum, text] = LINE.exec(line) ?? []
    const json = Buffer.from(text ?? '', 'latin1')
    if (text !== undefined && checksum(json) === sum) whole.push(json.toString())
    else if (line !== '') damaged.push(Buffer.from(`${line}\n`, 'latin1'))
  }
  return { whole, damaged }
}
