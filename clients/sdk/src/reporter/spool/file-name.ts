/** What the name of a file of events says. */
export interface FileName {
  readonly text: string
  /** When it was made, in milliseconds since 1970. */
  readonly madeAt: number
  /** The process that made it. */
  readonly nonce: string
  readonly events: number
  readonly bytes: number
}

/** The digits of milliseconds, up to the year 2286: names in order are files in order of time. */
const MS_DIGITS = 13

export function fileNameOf(parts: Omit<FileName, 'text'> & { n: number }): FileName {
  const { n, ...name } = parts
  const at = String(name.madeAt).padStart(MS_DIGITS, '0')
  return { ...name, text: `${at}-${name.nonce}-${n}-${name.events}-${name.bytes}.ndjson` }
}

/** @returns undefined when this is no file of events */
export function parseFileName(text: string): FileName | undefined {
  const [, at, nonce, events, bytes] =
    /^(\d{13})-([0-9a-z]{1,32})-\d{1,15}-(\d{1,9})-(\d{1,12})\.ndjson$/.exec(text) ?? []
  if (at === undefined || nonce === undefined) return undefined
  return { text, madeAt: Number(at), nonce, events: Number(events), bytes: Number(bytes) }
}

/** The name of the file while it is written. */
export const unfinishedName = (text: string): string => text.replace(/\.ndjson$/, '.tmp')

/** The process that writes a file under this name; undefined when it is another file. */
export const nonceOfUnfinished = (text: string): string | undefined =>
  text.endsWith('.tmp') ? parseFileName(text.replace(/\.tmp$/, '.ndjson'))?.nonce : undefined
