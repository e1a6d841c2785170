/**
 * The text by which a name is sorted: in lower case and with composed characters (NFC), so that "Ärger" and "ÄRGER" are
 * sorted as equal.
 */
export const sortNameOf = (name: string): string => name.normalize('NFC').toLowerCase()
