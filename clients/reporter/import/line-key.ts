import { hash } from 'node:crypto'

/**
 * The idempotency key of an imported event. It is made only of what does not change between two runs:
 *
 * - the record's text, with line ends as LF. So CR LF or LF and a missing last line end make no difference, nor do the
 *   file's name and the line's position. A file may be renamed, sorted, extended at its end, split, piped, or imported
 *   again after a crash: each line still counts once;
 * - the number of the line among equal ones: three equal lines are three events;
 * - the quantity's column: one line may be several events;
 * - the source, a name that the user may give with --source.
 *
 * Why the file's name is not the source by default: after a rename or through a pipe the same file would count again.
 * An import that may be repeated must never count too much in silence. The price: equal lines of two files count once
 * when both go to one account. That is right where the files overlap, as exports of neighbouring days do. It is wrong
 * where two machines each wrote the line: then --source must distinguish their files, as --help and the summary say.
 *
 * @param lineDigest see digestOfLine
 * @param ordinal 1 for the first line of this text, 2 for the second, …
 * @param column the position of the quantity's column (CSV) or its name (NDJSON)
 * @returns 50 characters; Tally allows up to 256
 */
export function lineKey(lineDigest: Buffer, ordinal: number, column: string, source: string): string {
  const parts = ['tally/import', source, column, String(ordinal), lineDigest.toString('base64url')]
  let text = ''
  for (const part of parts) text += `${Buffer.byteLength(part)}:${part}`
  return `import-${hash('sha256', text, 'base64url')}`
}

/** The SHA-256 of a line, which is used in place of its text. */
export const digestOfLine = (text: string): Buffer => hash('sha256', text, 'buffer')
