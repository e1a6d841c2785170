import { sortNameOf } from './sort-name.ts'

/** Letters that stay different in lower case, although readers take them for the same. */
const SAME_LETTERS = [
  ['ß', 'ss'],
  ['ς', 'σ'],
  ['ı', 'i'],
  ['i\u0307', 'i'], // the lower case of İ
] as const

/**
 * The form in which a text is searched for: as a name is sorted, and with letters that differ only at the end of a word
 * or in one language's case made equal. The column search_text has this form (migrations/0026_search_text.sql).
 */
export const searchTextOf = (text: string): string =>
  SAME_LETTERS.reduce((form, [letter, same]) => form.replaceAll(letter, same), sortNameOf(text))
