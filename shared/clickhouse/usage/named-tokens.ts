import type { NamedValues } from '../../domain/billing/named-values.ts'
import type { Properties } from '../../domain/properties.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { DomainError } from '../../errors/domain-error.ts'
import { propertyToken, tokenOfPair } from './property-token.ts'

/** A ClickHouse server takes 128 KiB a parameter (http_max_field_value_size); a token is 16 characters of it. */
export const TOKENS_MAX = 8_000

type NamedPair = readonly [property: string, value: string]

/** The values of properties that usage is told apart by, as ClickHouse knows them. */
export interface NamedTokens {
  /** Those whose usage is told apart. */
  sources: readonly UsageSource[]
  /** How many tokens each of them has. */
  counts: readonly number[]
  /** The tokens of all sources, in their order: 12 bytes each, in base64url. */
  packed: string
  /**
   * Those of the named tokens, as hex and sorted, that an event of a source with these properties has; see
   * propertyPairs.
   */
  tokensOf(source: UsageSource, pairs: readonly string[]): string[]
  /** What a token, as hex, of an event of a source stands for. */
  pairOf(source: UsageSource, token: string): NamedPair | undefined
}

/** @throws DomainError unprocessable when they are more than can be asked for */
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
      `rates in force name ${tokens.length} values of properties, at most ${TOKENS_MAX} can be told apart`,
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

/** What an event of a source with these tokens, as hex, is told apart by. */
export const propertiesOf = (
  source: UsageSource,
  tokens: readonly string[],
  named: NamedTokens,
): Properties =>
  Object.fromEntries(tokens.map((token) => named.pairOf(source, token)).filter((pair) => pair !== undefined))

export const NOTHING_NAMED: NamedTokens = nameTokens(new Map())
