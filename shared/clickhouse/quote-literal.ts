/** Any text as a literal for ClickHouse. Control characters are escaped, so that a query can be read line by line. */
export const quoteLiteral = (text: string): string =>
  `'${text
    .replace(/[\\']/g, '\\$&')
    .replace(/[\u0000-\u001f\u007f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)}'`
