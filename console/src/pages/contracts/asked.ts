import { useUrlQuery } from '../../app/url.ts'
import { parseInstant } from '../../format/time.ts'

/** The instants that a preview is asked for, as they stand in the address. */
export interface Asked {
  at?: number
  asOf?: number
  knownAt?: number
  since?: number
}

const NAMES = { at: 'at', asOf: 'as_of', knownAt: 'known_at', since: 'since' } as const

/** Reads what is asked for from the address. @returns also the names of those that are no instants */
export function useAsked(): { asked: Asked; faults: readonly string[] } {
  const [query] = useUrlQuery()
  const read = Object.entries(NAMES).flatMap(([key, name]) => {
    const text = query[name]
    return text === undefined ? [] : [{ key, name, at: parseInstant(text) }]
  })
  return {
    asked: Object.fromEntries(read.map(({ key, at }) => [key, at])),
    faults: read.filter(({ at }) => at === undefined).map(({ name }) => name),
  }
}

/** What the API is asked. */
export const bodyOf = (contractId: string, { at, asOf, knownAt, since }: Asked) => ({
  contract_id: contractId,
  ...(at === undefined ? {} : { at }),
  ...(asOf === undefined ? {} : { as_of: asOf }),
  ...(knownAt === undefined ? {} : { known_at: knownAt }),
  ...(since === undefined ? {} : { difference_since: since }),
})
