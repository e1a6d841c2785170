/**
 * The length of a text in Unicode scalar values. The limits of openapi.yaml are in this unit: an emoji of one code
 * point counts as one.
 */
export const characterCount = (text: string): number => Array.from(text).length
