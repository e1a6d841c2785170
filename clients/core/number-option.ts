import { UsageError } from '../../shared/errors/usage-error.ts'

interface Bounds {
  default: number
  min: number
  max: number
}

/**
 * Reads the value of a numeric option.
 * @throws UsageError when the value is not a number within the bounds
 */
export function numberOption(name: string, text: string | undefined, bounds: Bounds): number {
  if (text === undefined) return bounds.default
  const value = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && value >= bounds.min && value <= bounds.max) return value
  throw new UsageError(
    `--${name} must be a number from ${bounds.min} to ${bounds.max}, not ${JSON.stringify(text)}`,
  )
}

/**
 * Reads the value of an option that is a whole number.
 * @throws UsageError when the value is not a whole number within the bounds
 */
export function integerOption(name: string, text: string | undefined, bounds: Bounds): number {
  const value = numberOption(name, text, bounds)
  if (Number.isInteger(value)) return value
  throw new UsageError(`--${name} must be a whole number, not ${JSON.stringify(text)}`)
}
