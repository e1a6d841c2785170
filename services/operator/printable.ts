/** Text that was given over HTTP, as it may be shown in a terminal: without what a terminal would obey. */
export const printable = (text: string): string => text.replaceAll(/\p{C}/gu, '\ufffd')
