import { typedPath } from '../../../shared/config/typed-path.ts'
import { connect, type Connection, readConnection } from '../../core/connection.ts'
import { timeParser } from '../../core/parse-time.ts'
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, printHelp, type ProgramContext } from '../../core/program.ts'
import { type RetryNotes, retryNotes } from '../../core/retry-notes.ts'
import { type EventSource, resolveSource } from '../metric-source.ts'
import { tallyResources } from '../tally-resources.ts'
import { accountIds, resolveAccount } from './account-ids.ts'
import { dryRun } from './dry-run.ts'
import { type ImportCounts, newImportCounts } from './import-counts.ts'
import { IMPORT_HELP } from './import-help.ts'
import { formatOf, type ImportOptions, readImportOptions } from './import-options.ts'
import { type ImportDeps, importUsage } from './import-usage.ts'
import { describeBadLine, type InputLines } from './input-line.ts'
import { type LineRules, wantedCells } from './line-to-events.ts'
import { type Input, openInput } from './open-input.ts'
import { showProgress } from './progress.ts'
import { readCsv } from './read-csv.ts'
import { readNdjson } from './read-ndjson.ts'
import { summaryOf } from './summary.ts'

/**
 * npm run import: reports a file as usage. It prints the result to `out` and everything else to `err`.
 *
 * @returns 0 when every line was taken, 1 when some were bad, 130 when it was interrupted
 * @throws UsageError when the options are not valid, StartupError when the program cannot continue
 */
export async function runImport(context: ProgramContext): Promise<number> {
  const options = readImportOptions(context.args)
  if (options === undefined) {
    printHelp(context, IMPORT_HELP)
    return EXIT_OK
  }
  const counts = newImportCounts()
  const rules = rulesOf(options)
  const file = options.file === '-' ? '-' : typedPath(options.file, context.env)
  const input = await openInput(file, context.input, context.signal, (bytes) => {
    counts.bytes += bytes
  })
  const job: Job = { options, rules, counts, input, context }
  try {
    const lines = await startReading(readLines(input, options, rules))
    if (options.dryRun) await dryRun(lines, rules, options, counts, context)
    else await sendAll(job, lines)
  } catch (err) {
    if (!context.signal.aborted) throw err
  } finally {
    input.stream.destroy()
  }
  if (context.signal.aborted) {
    context.err(
      'interrupted: events that were sent are safe; run the same import again to continue, and nothing is counted twice',
    )
    return EXIT_INTERRUPTED
  }
  return counts.badLines > 0 ? EXIT_FAILED : EXIT_OK
}

interface Job {
  options: ImportOptions
  rules: LineRules
  counts: ImportCounts
  input: Input
  context: ProgramContext
}

async function sendAll({ options, rules, counts, input, context }: Job, lines: InputLines): Promise<void> {
  const notes: RetryNotes = retryNotes(context.err)
  const settings = await readConnection(options.connection, context, 'api-key')
  const connection = connect(settings, options.inFlightMax, context.signal, notes.add)
  try {
    const resolved = await resolve(options, connection)
    const progress = showProgress(counts, input.bytesTotal, context.screen, context.err)
    notes.printTo(progress.note)
    const startedAt = performance.now()
    const onBadLine: ImportDeps['onBadLine'] = (bad) => {
      progress.note(describeBadLine(bad))
    }
    try {
      const { signal } = context
      await importUsage(
        lines,
        rules,
        { ...resolved, ask: connection.ask, counts, onBadLine, signal },
        options,
      )
    } finally {
      progress.stop()
      for (const line of summaryOf(counts, performance.now() - startedAt, options.source)) context.out(line)
    }
  } finally {
    connection.close()
  }
}

async function resolve(
  { quantities, account, create }: ImportOptions,
  { ask }: Connection,
): Promise<Pick<ImportDeps, 'account' | 'sources'>> {
  const resources = tallyResources(ask)
  const sources: EventSource[] = []
  // Sources are found one after the other, because two columns may be quantities of one metric that does not exist yet.
  for (const { metric } of quantities) sources.push(await resolveSource(resources, metric, create))
  if ('column' in account) return { sources, account: { idsOf: accountIds(resources, create) } }
  return { sources, account: { id: await resolveAccount(resources, account.fixed, create) } }
}

const rulesOf = (options: ImportOptions): LineRules => ({
  timeColumn: options.timeColumn,
  quantityColumns: options.quantities.map(({ column }) => column),
  accountColumn: 'column' in options.account ? options.account.column : undefined,
  parseTime: timeParser(options.timeFormat, options.utcOffsetS),
  allowExponents: options.allowExponents,
  source: options.source,
})

function readLines({ stream }: Input, options: ImportOptions, rules: LineRules): InputLines {
  const wanted = { cells: wantedCells(rules), properties: options.properties }
  if (formatOf(options) === 'ndjson') return readNdjson(stream, wanted)
  return readCsv(stream, wanted, { delimiter: options.delimiter, header: options.header })
}

/** Reads the first line early, so that a file with wrong columns is refused before anything is made in Tally. */
async function startReading(lines: InputLines): Promise<InputLines> {
  const iterator = lines[Symbol.asyncIterator]()
  let first: IteratorResult<Awaited<ReturnType<typeof iterator.next>>['value']> | undefined =
    await iterator.next()
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const result = first === undefined ? iterator.next() : Promise.resolve(first)
        first = undefined
        return result
      },
      return: () => iterator.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    }),
  }
}
