import { DomainError } from '../../shared/errors/domain-error.ts'

/** The fault of one item of a request. The item is malformed, or well-formed but impossible. */
export interface Fault {
  code: 'malformed' | 'unprocessable'
  /** Begins with the name of the field. */
  message: string
}

/** The maximum number of faulty items that an answer names. */
const FAULTS_NAMED_MAX = 20

export const malformed = (message: string): Fault => ({ code: 'malformed', message })
export const impossible = (message: string): Fault => ({ code: 'unprocessable', message })

/**
 * Throws an error that names the first faulty items by their index. If any items are malformed, it names only these.
 *
 * @param noun the word for the items
 * @throws DomainError when there is a fault
 */
export function throwFaults(
  faults: ReadonlyMap<number, Fault>,
  label: (index: number) => string,
  noun = 'events',
): void {
  if (faults.size === 0) return
  const ordered = [...faults].sort(([a], [b]) => a - b)
  const code = ordered.some(([, fault]) => fault.code === 'malformed') ? 'malformed' : 'unprocessable'
  const named = ordered.filter(([, fault]) => fault.code === code)
  // Several events may be made of one item, with the same fault.
  const messages = new Set(named.map(([index, { message }]) => `${label(index)}${message}`))
  throw new DomainError(code, faultList([...messages], noun))
}

/** A text with the first faults, one per line, and the number of further faults. */
export function faultList(messages: readonly string[], noun: string): string {
  const shown = messages.slice(0, FAULTS_NAMED_MAX)
  const more = messages.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more ${noun}`] : [])].join('\n')
}
