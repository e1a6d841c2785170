/**
 * The length of a text in Unicode scalar values, as the contract's limits count it: an emoji of one code point counts
 * as one.
 */
export const characterCount = (text: string): number => Array.from(text).length
