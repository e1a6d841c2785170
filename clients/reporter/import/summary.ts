import type { ImportCounts } from './import-counts.ts'

/**
 * Makes the summary of an import, for people.
 *
 * @param ms how long the import took
 * @param source the given --source, or an empty text
 */
export function summaryOf(counts: ImportCounts, ms: number, source: string): string[] {
  const { lines, events, badLines, emptyQuantities, repeatedLines } = counts
  const seconds = Math.max(ms / 1_000, 0.001)
  return [
    `lines read   ${format(lines)}`,
    `events sent  ${format(events)}`,
    `bad lines    ${format(badLines)}`,
    ...(emptyQuantities > 0 ? [`empty quantities, not sent  ${format(emptyQuantities)}`] : []),
    `seconds      ${seconds.toFixed(1)}`,
    `events/s     ${format(Math.round(events / seconds))}`,
    ...(events > 0 ? [REPETITION_IS_SAFE] : []),
    ...(repeatedLines > 0 && source === '' ? [repetitionHint(repeatedLines)] : []),
  ]
}

const REPETITION_IS_SAFE =
  'Lines that were imported before count only once: the same import run again shows the same numbers, and changes nothing.'

/** The hint for a file with equal lines. Lines may then also be equal between files, and --source matters. */
const repetitionHint = (repeatedLines: number): string =>
  `${format(repeatedLines)} lines are equal to an earlier line, and were counted, too. Equal lines of another file count ` +
  'only once with these, unless that file is imported with a --source of its own.'

const format = (count: number): string => count.toLocaleString('en-US')
