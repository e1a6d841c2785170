import { findAmountFault } from '../../../shared/amount/amount.ts'
import { plainDigits } from './plain-digits.ts'

/** Why a text was refused, as a clause for people. */
export interface Fault {
  fault: string
}

/**
 * Reads a quantity from a file. Only forms with a certain meaning are converted, and no digit is lost. Such forms are:
 * space around the number, a leading plus, `.5` and `5.`, and zeros beyond the allowed decimal places. Every other text
 * is refused with a reason. Nothing is guessed.
 *
 * @param allowExponents whether to take `5e-06`. This is not the default, because spreadsheets write large numbers that
 *   way after rounding them
 * @returns decimal text in a form that Tally takes, or why the text is refused
 */
export function parseQuantity(text: string, allowExponents: boolean): string | Fault {
  const trimmed = text.trim().replace(/^\+(?=[\d.])/, '')
  if (findAmountFault(trimmed) === undefined) return trimmed
  const completed = trimmed.replace(/^(-?)\.(?=\d)/, '$10.').replace(/(?<=\d)\.$/, '')
  if (/^-?\d+(\.\d+)?[eE][+-]?\d+$/.test(completed) && !allowExponents)
    return {
      fault: `${JSON.stringify(trimmed)} has an exponent, as spreadsheets write after rounding: export plain digits, or pass --allow-exponents when all digits are there`,
    }
  const digits = stripZeros(plainDigits(completed) ?? completed)
  const fault = findAmountFault(digits)
  return fault === undefined ? digits : { fault: explain(trimmed) ?? fault }
}

/** Removes zeros that change nothing: before the number, and at the end of its decimal places. */
const stripZeros = (digits: string): string =>
  /^-?\d+(\.\d+)?$/.test(digits)
    ? digits
        .replace(/^(-?)0+(?=\d)/, '$1')
        .replace(/(\.\d*?)0+$/, (_, places: string) => places.replace(/\.$/, ''))
    : digits

/** Explains the usual faults of exported quantities. */
function explain(text: string): string | undefined {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
  if (/^[+-]?\d{1,3}([,' \u00A0\u202F_]\d{3})+([.,]\d+)?$/.test(text))
    return `${shown} has separators between its digits, which could also be a decimal comma: export plain digits`
  if (/^[+-]?\d+,\d+$/.test(text)) return `${shown} has a comma: export it with a decimal point`
  if (/^\(.*\)$/.test(text)) return `${shown} is in brackets: export negative numbers with a minus sign`
  if (/[$€£¥%]/.test(text)) return `${shown} has a sign of a currency or a percentage: export plain digits`
  return undefined
}
