/**
 * The largest exponent. A number with a larger one is no quantity, and its digits could take more memory than the file.
 */
const EXPONENT_MAX = 100

/**
 * Writes a number with an exponent as plain digits, exactly: `5e-06` becomes `0.000005`, `1.5E+3` becomes `1500`. Text
 * without an exponent is returned unchanged.
 *
 * @returns undefined when the text is no such number
 */
export function plainDigits(text: string): string | undefined {
  const [, sign = '', integer = '', fraction = '', exponent] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (integer === '') return undefined
  if (exponent === undefined) return text
  const shift = Number(exponent)
  if (Math.abs(shift) > EXPONENT_MAX) return undefined
  const point = integer.length + shift
  const digits = integer + fraction
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const at = Math.max(point, 1)
  const whole = padded.slice(0, at).replace(/^0+(?=\d)/, '')
  const rest = padded.slice(at).replace(/0+$/, '')
  return `${sign}${whole}${rest === '' ? '' : `.${rest}`}`
}
