import { AMOUNT_FIELDS } from '../operations.gen.ts'

const FIELDS: ReadonlySet<string> = new Set(AMOUNT_FIELDS)

/**
 * Turns the amounts of a body into text. Everything else stays as it is, above all `properties`, whose names belong to
 * the caller.
 *
 * @throws TypeError when an amount is a number that is not a safe integer
 */
export function withAmountsAsText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withAmountsAsText)
  if (!isPlainObject(value)) return value
  const entries = Object.entries(value).map(([name, field]) => {
    if (name === 'properties') return [name, field]
    return [name, FIELDS.has(name) && isNumeric(field) ? amountText(field, name) : withAmountsAsText(field)]
  })
  return Object.fromEntries(entries) as unknown
}

/**
 * Formats an amount as decimal text.
 *
 * @throws TypeError when a number is not a safe integer. Others may have lost digits before they came here
 */
export function amountText(amount: string | bigint | number, field: string): string {
  if (typeof amount !== 'number' || Number.isSafeInteger(amount))
    return Object.is(amount, -0) ? '0' : String(amount)
  throw new TypeError(`${field}: ${amount} is not a safe integer; give the amount as text, such as '12.5'`)
}

const isNumeric = (value: unknown): value is bigint | number =>
  typeof value === 'number' || typeof value === 'bigint'

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !('toJSON' in value)
