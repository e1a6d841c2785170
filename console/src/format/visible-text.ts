/** Characters that cannot be seen, or that change the direction or the place of the text around them. */
const HIDDEN =
  /[\u0000-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/g

/** The pictures that Unicode has for control characters begin here. */
const PICTURES = 0x2400
const DELETE = 0x7f

/** Shows characters that cannot be seen as symbols: a line feed as ␊, a character that turns the text as ⟨202E⟩. */
export const visibleText = (text: string): string => text.replaceAll(HIDDEN, symbolOf)

const LINES = /[^\n]+/g

/** Writes a value as JSON on several lines. Characters that cannot be seen are escapes, so a copy is the value. */
export const visibleJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(LINES, (line) => line.replaceAll(HIDDEN, escapeOf))

const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

function symbolOf(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(PICTURES + code)
  if (code === DELETE) return '\u2421'
  return `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}
