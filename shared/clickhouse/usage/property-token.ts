import { hash } from 'node:crypto'

/** The value in the column property_tokens for a property: the first 96 bits of the SHA-256 of its pair, as hex. */
export const propertyToken = (name: string, value: string): string => tokenOfPair(propertyPair(name, value))

/** The token of a property pair, as 24 hexadecimal digits. */
export const tokenOfPair = (pair: string): string => hash('sha256', pair, 'hex').slice(0, 24)

/** The text that a token is computed from; see propertyPairs. */
export const propertyPair = (name: string, value: string): string => `${name}=${value}`
