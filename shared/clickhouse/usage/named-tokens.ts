import type { NamedValues } from '../../domain/billing/named-values.ts'
import type { Properties } from '../../domain/properties.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { DomainError } from '../../errors/domain-error.ts'
import { propertyToken, tokenOfPair } from './property-token.ts'

/**
 * A ClickHouse server accepts 128 KiB in a parameter (http_max_field_value_size); a token takes 16 characters of it.
 */
export const TOKENS_MAX = 8_000

type NamedPair = readonly [property: string, value: string]

/** The values of properties by which usage is split, as the tokens that ClickHouse stores. */
export interface NamedTokens {
  /** The sources whose usage is split. */
  sources: readonly UsageSource[]
  /** The number of tokens of each source. */
  counts: readonly number[]
  /** The tokens of all sources, in the order of the sources: 12 bytes each, in base64url. */
  packed: string
  /** The named tokens of an event, from its source and its property pairs (see propertyPairs), as sorted hex. */
  tokensOf(source: UsageSource, pairs: readonly string[]): string[]
  /** The property and value of a token in the events of a source. The token is given as hex. */
  pairOf(source: UsageSource, token: string): NamedPair | undefined
}

/** @throws DomainError unprocessable when there are more tokens than one query can have */
export function nameTokens(named: NamedValues): NamedTokens {
  const bySource = new Map<UsageSource, Map<string, NamedPair>>()
  for (const [source, properties] of named) {
    const tokens = new Map<string, NamedPair>()
    for (const [property, values] of properties)
      for (const value of values) tokens.set(propertyToken(property, value), [property, value])
    if (tokens.size > 0) bySource.set(source, tokens)
  }
  const tokens = [...bySource.values()].flatMap((ofSource) => [...ofSource.keys()])
  if (tokens.length > TOKENS_MAX)
    throw new DomainError(
      'unprocessable',
      `rates in force name ${tokens.length} values of properties, at most ${TOKENS_MAX} can be distinguished`,
    )
  return {
    sources: [...bySource.keys()],
    counts: [...bySource.values()].map(({ size }) => size),
    packed: Buffer.from(tokens.join(''), 'hex').toString('base64url'),
    tokensOf: (source, pairs) => {
      const ofSource = bySource.get(source)
      return ofSource === undefined
        ? []
        : pairs
            .map(tokenOfPair)
            .filter((token) => ofSource.has(token))
            .sort()
    },
    pairOf: (source, token) => bySource.get(source)?.get(token),
  }
}

/** The named properties of an event, from its source and its tokens as hex. */
export const propertiesOf = (
  source: UsageSource,
  tokens: readonly string[],
  named: NamedTokens,
): Properties =>
  Object.fromEntries(tokens.map((token) => named.pairOf(source, token)).filter((pair) => pair !== undefined))

export const NOTHING_NAMED: NamedTokens = nameTokens(new Map())
