/**
 * Characters that are invisible, or that a terminal executes: control characters, format characters (for example, marks
 * of text direction), and unassigned code points.
 */
const UNSEEN = /\p{C}/gu

/**
 * Text from outside (a file, the API, a database, arguments of a command) in a form that is safe in a terminal. UNSEEN
 * characters are written by their numbers, for example `\u{feff}`. Line ends are, too, so the result is one line.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)

/** Makes lines of Tally's own text printable, because they may contain text from outside. They stay separate lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/** JSON that is safe in a terminal, and parses to the same value. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, index) => escapedUnit(character.charCodeAt(index))).join(''),
  )

const escapedUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`

/** Whether text contains no invisible character. */
export const isPrintable = (text: string): boolean => printable(text) === text
