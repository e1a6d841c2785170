/** What is not seen, or obeyed by a terminal: control, format (a mark that turns the direction of text), unassigned. */
const UNSEEN = /\p{C}/gu

/**
 * Text that comes from others (a file, the API, a database, the words of a command) as it may be shown in a terminal:
 * what would be obeyed, or not be seen, stands there by its number, as `\u{feff}`; line ends too, so it is one line.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)

/** Makes lines of our own printable, in which text of others may stand; they stay lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/** JSON that may be shown in a terminal, and is read as the value that it was. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, index) => escapedUnit(character.charCodeAt(index))).join(''),
  )

const escapedUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`

/** Whether text holds nothing that is not seen. */
export const isPrintable = (text: string): boolean => printable(text) === text
