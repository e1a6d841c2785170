/** Quotes a name of a database, table or column. */
export const quoteIdentifier = (name: string): string =>
  `\`${name.replace(/\\/g, '\\\\').replace(/`/g, '\\`')}\``
