import type { TransportAnswer } from './transport.ts'

/** What a proxy may find as well: that a request is too large, or Tally away. It means the same then. */
const isAnybodys = (status: number): boolean => status >= 500 || [408, 413, 429].includes(status)

/** Whether an answer is an error of Tally, which are plain text. Other servers have other pages for what is not found. */
export function isTallysError({ status, headers, text }: TransportAnswer): boolean {
  if (status < 400 || isAnybodys(status)) return status >= 400
  const isPlain = /^text\/plain\b/i.test(headers['content-type'] ?? 'text/plain') && !/^\s*</.test(text)
  return isPlain && (status !== 404 || text.trim() === 'not found')
}

/** A part of the request that Tally refuses. */
export interface Fault {
  /** The place in `events` or `corrections`; undefined when the request has no such list. */
  index: number | undefined
  /** `quantity`; empty when the item as a whole is refused. */
  field: string
  reason: string
}

const ITEM = /^(?:events|corrections)\[(\d+)\]\.?(.*)$/
/** A property may have any name. */
const ITEM_FIELD = /^(.*?): (.+)$/
/** A line of any other text may have a colon, too. */
const FIELD = /^([\w.[\]-]+): (.+)$/

/** Reads the faults of an answer, one of each line: `events[3].quantity: must be text such as "1"`. */
export function parseFaults(text: string): Fault[] {
  return text.split('\n').flatMap((line): Fault[] => {
    const [, index, rest = line] = ITEM.exec(line) ?? []
    const [, field = '', reason] = (index === undefined ? FIELD : ITEM_FIELD).exec(rest) ?? []
    if (index !== undefined) return [{ index: Number(index), field, reason: reason ?? rest }]
    return reason === undefined ? [] : [{ index: undefined, field, reason }]
  })
}

/** The fault in one line, without its place: `quantity: must be text such as "1"`. */
export const faultText = ({ field, reason }: Fault): string => (field === '' ? reason : `${field}: ${reason}`)
