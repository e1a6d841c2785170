import { DomainError } from '../../shared/errors/domain-error.ts'

/** What is wrong with one item of a request: malformed in itself, or well-formed and still impossible. */
export interface Fault {
  code: 'malformed' | 'unprocessable'
  /** Begins with the name of the field. */
  message: string
}

/** How many faulty items an answer names. */
const FAULTS_NAMED_MAX = 20

export const malformed = (message: string): Fault => ({ code: 'malformed', message })
export const impossible = (message: string): Fault => ({ code: 'unprocessable', message })

/**
 * Names the first faulty items by their index. If any are malformed, only those are named.
 *
 * @param noun what the items are called
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
  const messages = named.map(([index, { message }]) => `${label(index)}${message}`)
  throw new DomainError(code, faultList(messages, noun))
}

/** The first faults, one a line, and the number of further ones. */
export function faultList(messages: readonly string[], noun: string): string {
  const shown = messages.slice(0, FAULTS_NAMED_MAX)
  const more = messages.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more ${noun}`] : [])].join('\n')
}
