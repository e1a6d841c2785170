/** A name as it is sorted: without case, and with characters composed, so that "Ärger" and "ÄRGER" are neighbours. */
export const sortNameOf = (name: string): string => name.normalize('NFC').toLowerCase()
