/**
 * How long a text is in Unicode scalar values, as limits of the contract count it: an emoji of one code point is one.
 */
export const characterCount = (text: string): number => Array.from(text).length
