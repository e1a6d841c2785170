import fc from 'fast-check'
import type { PriceTerms, Tier } from '../../shared/domain/billing/price.ts'
import { textOf } from './decimal-units.ts'

const UNIT = 10n ** 18n

/** Decimal text from 0 on: whole numbers, halves and quarters, and amounts with 18 places. Each kind occurs often. */
const units = (max: bigint) =>
  fc.oneof(
    fc.bigInt(0n, max).map((n) => n * UNIT),
    fc.bigInt(0n, max * 4n).map((n) => (n * UNIT) / 4n),
    fc
      .tuple(fc.bigInt(0n, max), fc.constantFrom(-1n, 1n))
      .map(([n, crumb]) => (n === 0n ? 1n : n * UNIT + crumb)),
    fc.bigInt(0n, max * UNIT),
  )

export const decimal = (max: bigint): fc.Arbitrary<string> => units(max).map(textOf)

/** The quantity may also be negative, like usage. */
export const quantityText: fc.Arbitrary<string> = fc
  .tuple(units(60n), fc.integer({ min: 0, max: 9 }))
  .map(([n, sign]) => textOf(sign === 0 ? -n : n))

export const per: fc.Arbitrary<string> = fc.constantFrom('1', '3', '1000', '3600', '1000000000000000000')

/** Tiers in rising order, the last without an upper bound. */
export const tiers: fc.Arbitrary<Tier[]> = fc
  .tuple(
    fc.uniqueArray(
      units(60n).filter((n) => n > 0n),
      { maxLength: 5, size: 'max' },
    ),
    fc.array(fc.record({ unitAmount: decimal(9n), flatAmount: fc.oneof(fc.constant('0'), decimal(9n)) }), {
      minLength: 6,
      maxLength: 6,
    }),
  )
  .map(([ends, amounts]) => {
    const rising = ends.toSorted((a, b) => (a < b ? -1 : 1)).map(textOf)
    return [...rising, null].map((upTo, index) => ({
      upTo,
      unitAmount: '0',
      flatAmount: '0',
      ...amounts[index],
    }))
  })

/** A minimum and a maximum that a price may have. */
export const bounds = fc
  .tuple(fc.oneof(fc.constant('0'), decimal(20n)), fc.option(units(50n)), fc.option(units(50n)))
  .map(([includedQuantity, a, b]) => {
    const isTurned = a !== null && b !== null && a > b
    const [least, most] = isTurned ? [b, a] : [a, b]
    const textOrNull = (n: bigint | null) => (n === null ? null : textOf(n))
    return { includedQuantity, minimumAmount: textOrNull(least), maximumAmount: textOrNull(most) }
  })

/** Terms of any model. */
export const terms: fc.Arbitrary<PriceTerms> = fc.oneof(
  fc.record({ model: fc.constant('flat' as const), amount: decimal(99n), recurring: fc.boolean() }),
  fc
    .tuple(bounds, decimal(9n), per)
    .map(([bound, unitAmount, of]) => ({ ...bound, model: 'per_unit' as const, unitAmount, per: of })),
  fc
    .tuple(bounds, fc.constantFrom('graduated' as const, 'volume' as const), tiers, per)
    .map(([bound, model, steps, of]) => ({ ...bound, model, tiers: steps, per: of })),
  fc
    .tuple(
      bounds,
      decimal(9n),
      units(20n).filter((n) => n > 0n),
    )
    .map(([bound, packageAmount, size]) => ({
      ...bound,
      model: 'package' as const,
      packageAmount,
      packageSize: textOf(size),
    })),
  fc
    .tuple(bounds, decimal(999n))
    .map(([bound, percent]) => ({ ...bound, model: 'percentage' as const, percent })),
)

export const share = fc
  .tuple(fc.integer({ min: 1, max: 31 }), fc.constantFrom(1, 28, 31, 86_400))
  .map(([seconds, of]) => ({ seconds: Math.min(seconds, of), of }))
