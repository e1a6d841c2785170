import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { typedPath } from '../../../shared/config/typed-path.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import type { SchemaOf } from '../../contract.ts'
import type { Ask } from '../../core/ask.ts'
import { connect, readConnection } from '../../core/connection.ts'
import { EXIT_INTERRUPTED, EXIT_OK, printHelp, type ProgramContext } from '../../core/program.ts'
import { retryNotes } from '../../core/retry-notes.ts'
import { ApiError, type Page, type Query } from '../../sdk/src/node.ts'
import { PREVIEW_HELP } from './preview-help.ts'
import { CSV_HEADER, csvLine } from './preview-line.ts'
import { type PreviewFormat, type PreviewOptions, readPreviewOptions } from './preview-options.ts'
import { type Progress, showProgress } from './progress.ts'

const PAGE = 100

/** The place for lines: standard output, or a file. All lines appear in the file at once when it is finished. */
interface Output {
  write(lines: readonly string[]): Promise<void>
  finish(): Promise<void>
  /** Drops the lines for a file, and keeps the previous file. */
  abandon(): Promise<void>
}

/**
 * npm run preview: writes the previews of a period of all contracts to a file.
 *
 * @returns 0 when all previews are in the file, 130 when the run was interrupted
 * @throws UsageError when the options are not valid, StartupError when the program cannot continue
 */
export async function runPreview(context: ProgramContext): Promise<number> {
  const options = readPreviewOptions(context.args)
  if (options === undefined) {
    printHelp(context, PREVIEW_HELP)
    return EXIT_OK
  }
  const settings = await readConnection(options.connection, context, 'api-key')
  const progress = showProgress(PAGE, context.screen, context.err)
  const notes = retryNotes(progress.note)
  const connection = connect(settings, 1, context.signal, notes.add)
  try {
    const output = await openOutput(options.out, context)
    try {
      const { contracts, totals } = await writePreviews(
        options,
        connection.ask,
        output,
        progress,
        context.signal,
      )
      await output.finish()
      progress.stop()
      context.err(
        `${contracts.toLocaleString('en-US')} contract${contracts === 1 ? '' : 's'} at ${settings.url}`,
      )
      for (const [currency, count] of totals) context.err(`${count.toLocaleString('en-US')} in ${currency}`)
      return EXIT_OK
    } catch (err) {
      await output.abandon()
      throw err
    }
  } catch (err) {
    progress.stop()
    if (!context.signal.aborted) throw err
    return EXIT_INTERRUPTED
  } finally {
    connection.close()
  }
}

/**
 * Writes page after page, all as of the same second.
 * @returns how many previews there are, and how many of each currency
 */
async function writePreviews(
  { at, asOf, format }: PreviewOptions,
  ask: Ask,
  output: Output,
  progress: Progress,
  signal: AbortSignal,
): Promise<{ contracts: number; totals: Map<string, number> }> {
  const totals = new Map<string, number>()
  let contracts = 0
  let cursor: string | undefined
  // A time that was not given is taken from the first page. Tally takes it from the company's clock.
  let [second, usageBefore] = [at ?? asOf, asOf]
  if (format === 'csv') await output.write([CSV_HEADER])
  for (;;) {
    signal.throwIfAborted()
    const page = await askPage(ask, { at: second, as_of: usageBefore, starting_after: cursor })
    await output.write(page.data.map((preview) => lineOf(preview, format)))
    contracts += page.data.length
    for (const { currency } of page.data) totals.set(currency, (totals.get(currency) ?? 0) + 1)
    progress.update(contracts)
    const last = page.data.at(-1)
    if (!page.has_more || last === undefined) return { contracts, totals }
    cursor = last.contract_id
    usageBefore ??= last.as_of
    second ??= usageBefore
  }
}

const lineOf = (preview: SchemaOf<'InvoiceSummary'>, format: PreviewFormat): string =>
  format === 'csv' ? csvLine(preview) : JSON.stringify(preview)

async function askPage(
  ask: Ask,
  query: Query<'listInvoicePreviews'>,
): Promise<Page<SchemaOf<'InvoiceSummary'>>> {
  try {
    return await ask((tally) => tally.invoicePreviews.list({ ...query, limit: PAGE }))
  } catch (err) {
    if (ApiError.is(err)) throw new StartupError(`Tally refused: ${err.text}`)
    throw err
  }
}

async function openOutput(
  out: string | undefined,
  { env, out: print }: Pick<ProgramContext, 'env' | 'out'>,
): Promise<Output> {
  if (out === undefined)
    return {
      write: (lines) => {
        for (const line of lines) print(line)
        return Promise.resolve()
      },
      finish: () => Promise.resolve(),
      abandon: () => Promise.resolve(),
    }
  const file = typedPath(out, env)
  const draft = `${file}.${process.pid}.part`
  const handle = await openDraft(draft)
  return {
    async write(lines) {
      await handle.appendFile(lines.map((line) => `${line}\n`).join(''))
    },
    async finish() {
      await handle.sync()
      await handle.close()
      await rename(draft, file)
    },
    async abandon() {
      await handle.close()
      await rm(draft, { force: true })
    },
  }
}

const openDraft = (draft: string): Promise<FileHandle> =>
  open(draft, 'w').catch((err: unknown) => {
    throw new StartupError(`cannot write ${draft}: ${err instanceof Error ? err.message : String(err)}`)
  })
