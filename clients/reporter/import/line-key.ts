import { hash } from 'node:crypto'

/**
 * Makes the idempotency key of an imported event. It depends only on facts that are equal in each run:
 *
 * - the record's text, with line ends as LF. The kind of line ends makes no difference, and the last line may lack one.
 *   The file's name and the position of the line make no difference, too. A file may be renamed, sorted, extended at
 *   its end, split, piped, or imported again after a crash: each line still counts once;
 * - the number of the line among equal lines, because three equal lines are three events;
 * - the quantity's column, because one line may be several events;
 * - the source, a name that the user may give with --source.
 *
 * Why the file's name is not the source by default: after a rename, or through a pipe, the same file would count again.
 * An import that may be repeated must never count too much in silence. This has a drawback: equal lines of two files
 * count once when both are for one account. That is right when the files overlap, such as exports of neighbouring days.
 * It is wrong when two machines each wrote the line. Then --source must distinguish their files, as --help and the
 * summary say.
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

/** Computes the SHA-256 of a line, which is used instead of the line's text. */
export const digestOfLine = (text: string): Buffer => hash('sha256', text, 'buffer')
