import { hash } from 'node:crypto'

/**
 * The idempotency key of an event of an import. It is made of what the event is in the file and of nothing that may
 * change between two runs:
 *
 * - the record's text as it stands, with line ends as LF: so CR LF or LF and a missing last line end are the same, and
 *   neither the file's name nor the place of the line matters. A file may be renamed, sorted, grown at its end, split in
 *   parts, piped, or imported again after a crash: each line still counts once;
 * - which of its equals the line is: three equal lines are three events;
 * - the column the quantity is in: one line may be several events;
 * - the source, a name that the user may give with --source.
 *
 * Why the file's name is not the source by default: renamed or piped, the same file would count again, and silently too
 * much is what an import that may be repeated must never do. The price: equal lines of two files count once when both
 * go to one account. That is right where the files overlap, as exports of neighbouring days do, and wrong where two
 * machines each wrote the line: their files are to be told apart with --source, which --help and the summary say.
 *
 * @param lineDigest see digestOfLine
 * @param ordinal 1 for the first line of this text, 2 for the second, …
 * @param column the place of the quantity's column (CSV) or its name (NDJSON)
 * @returns 50 characters; Tally keeps up to 256
 */
export function lineKey(lineDigest: Buffer, ordinal: number, column: string, source: string): string {
  const parts = ['tally/import', source, column, String(ordinal), lineDigest.toString('base64url')]
  let text = ''
  for (const part of parts) text += `${Buffer.byteLength(part)}:${part}`
  return `import-${hash('sha256', text, 'base64url')}`
}

/** What stands for the text of a line: its SHA-256. */
export const digestOfLine = (text: string): Buffer => hash('sha256', text, 'buffer')
