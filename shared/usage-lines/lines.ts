const NEWLINE = 0x0a

/** The lines of a record without their line ends. An empty record gives one empty line, so that it is not lost. */
export function splitLines(value: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let start = 0
  for (let end = value.indexOf(NEWLINE); end >= 0; end = value.indexOf(NEWLINE, start)) {
    lines.push(value.subarray(start, end))
    start = end + 1
  }
  if (start < value.length || lines.length === 0) lines.push(value.subarray(start))
  return lines
}
