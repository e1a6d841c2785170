import { Readable } from 'node:stream'
import type { BadLine, InputLine, InputLines } from '../../../clients/reporter/import/input-line.ts'

/** A stream of these bytes, in chunks that end at the given positions. */
export function streamOf(text: string | Buffer, cuts: readonly number[] = []): Readable {
  const bytes = Buffer.from(text)
  const edges = [0, ...[...cuts].sort((a, b) => a - b).filter((cut) => cut < bytes.length), bytes.length]
  return Readable.from(edges.slice(1).map((end, index) => bytes.subarray(edges[index], end)))
}

export async function collectLines(lines: InputLines): Promise<(InputLine | BadLine)[]> {
  const all: (InputLine | BadLine)[] = []
  for await (const line of lines) all.push(line)
  return all
}

/** `3: a|b` for a line and `3-5! fault` for a bad one. */
export const shortOf = (line: InputLine | BadLine): string => {
  const place = line.line === line.lastLine ? `${line.line}` : `${line.line}-${line.lastLine}`
  return 'fault' in line ? `${place}! ${line.fault}` : `${place}: ${line.cells.join('|')}`
}
