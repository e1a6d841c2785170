/**
 * The text by which a name is sorted: lower case, with characters composed, so that "Ärger" and "ÄRGER" are
 * neighbours.
 */
export const sortNameOf = (name: string): string => name.normalize('NFC').toLowerCase()
