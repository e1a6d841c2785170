import { createHash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { typedPath } from '../../../shared/config/typed-path.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { formatMicros, parseMicros } from '../../../shared/time/micros-text.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import { EXIT_INTERRUPTED, EXIT_OK, printHelp, type ProgramContext } from '../../core/program.ts'
import {
  type AnalystSettings,
  type AskAnalyst,
  connectAsAnalyst,
  lost,
  notAnEndpoint,
  QueryError,
  readAnalystSettings,
  readRows,
  showUrl,
} from './analyst-connection.ts'
import { EXPORT_HELP } from './export-help.ts'
import { type ExportOptions, readExportOptions } from './export-options.ts'
import { chooseCut, countRows, queryOf, readColumns } from './export-queries.ts'
import { FILE_FORMATS } from './file-format.ts'
import {
  type Manifest,
  MANIFEST_FILE,
  newManifest,
  readManifest,
  type Subject,
  type Window,
  writeManifest,
} from './manifest.ts'
import { halve, planWhole, planWindows } from './plan-windows.ts'
import { CHANGES, type Column, divisionOf } from './view-shape.ts'
import { writeWholeFile } from './whole-file.ts'

/** An export under way. */
interface Export {
  options: ExportOptions
  settings: AnalystSettings
  ask: AskAnalyst
  read: <Row extends readonly unknown[]>(query: string) => Promise<Row[]>
  folder: string
  columns: Column[]
  tell: (line: string) => void
}

/**
 * npm run export: writes a view into files.
 *
 * @returns 0 when the export is complete, 130 when the run was interrupted
 * @throws UsageError when the options are not valid, StartupError when the program cannot continue
 */
export async function runExport({
  args,
  env,
  out,
  err: tell,
  signal,
  command,
}: ProgramContext): Promise<number> {
  const options = readExportOptions(args)
  if (options === undefined) {
    printHelp({ out, command }, EXPORT_HELP)
    return EXIT_OK
  }
  const settings = await readAnalystSettings(options.connection, env)
  const folder = typedPath(options.dir, env)
  const ask = connectAsAnalyst(settings, signal)
  const read: Export['read'] = (query) => readRows(ask, settings.url, query)
  try {
    const columns = await readColumns(read, options.view)
    const exporting = { options, settings, ask, read, folder, columns, tell }
    const manifest = (await findManifest(exporting)) ?? (await begin(exporting))
    await writeWindows(exporting, manifest)
    return EXIT_OK
  } catch (err) {
    if (signal.aborted) return EXIT_INTERRUPTED
    throw await explained(err, { options, settings, read, folder })
  }
}

const subjectOf = ({ options, settings }: Export): Subject => ({
  url: showUrl(settings.url),
  user: settings.user,
  database: settings.database ?? null,
  view: options.view,
  format: options.format,
  since: options.since === undefined ? null : formatMicros(options.since),
})

/** Finds the manifest of a run before, and requires that the files it lists are there. */
async function findManifest(exporting: Export): Promise<Manifest | undefined> {
  const { folder, tell } = exporting
  await mkdir(folder, { recursive: true })
  const manifest = await readManifest(folder, subjectOf(exporting))
  if (manifest === undefined) {
    const others = (await readdir(folder, { withFileTypes: true })).filter(
      (one: Dirent) => !one.name.endsWith('.part'),
    )
    if (others.length === 0) return undefined
    throw new StartupError(`${folder} is not empty, and has no ${MANIFEST_FILE}: choose another --dir`)
  }
  for (const window of manifest.windows) {
    if (window.bytes === null) continue
    const found = await stat(path.join(folder, window.file)).catch(() => undefined)
    if (found?.size === window.bytes) continue
    tell(`${window.file} is not there any more as it was written: writing it again`)
    window.rows = window.bytes = window.sha256 = null
    manifest.is_complete = false
  }
  return manifest
}

/** Chooses the cut and the files. They are in the manifest before the first file, so that every run has the same ones. */
async function begin(exporting: Export): Promise<Manifest> {
  const { options, read, folder } = exporting
  const { view, format, since } = options
  const cut = Math.max(await chooseCut(read, view), since ?? 0)
  const counted = await countRows(read, view, since, cut)
  const windows =
    divisionOf(view) === undefined
      ? planWhole(counted[0]?.[2] ?? 0, view, format)
      : planWindows(
          counted,
          view === CHANGES
            ? { name: view, ending: format, since: since ?? 0, cut }
            : { name: view, ending: format, since: 0, cut: Infinity },
        )
  const manifest = newManifest(subjectOf(exporting), formatMicros(cut), windows)
  await writeManifest(folder, manifest)
  return manifest
}

async function writeWindows(exporting: Export, manifest: Manifest): Promise<void> {
  const { folder, options, tell } = exporting
  const cut = parseMicros(manifest.cut) ?? 0
  for (;;) {
    const index = manifest.windows.findIndex(({ sha256 }) => sha256 === null)
    const window = manifest.windows[index]
    if (window === undefined) break
    const written = await writeWindow(exporting, window, cut)
    manifest.windows.splice(index, 1, ...written)
    await writeManifest(folder, manifest)
    if (written.length === 1) tell(`${window.file}: ${written[0]?.rows?.toLocaleString('en-US') ?? ''} rows`)
  }
  if (!manifest.is_complete) {
    const sum = (of: 'rows' | 'bytes') =>
      manifest.windows.reduce((total, window) => total + (window[of] ?? 0), 0)
    manifest.rows = sum('rows')
    manifest.bytes = sum('bytes')
    manifest.is_complete = true
    manifest.next_since = options.view === CHANGES ? `${manifest.cut.replace(' ', 'T')}Z` : null
    manifest.finished_at = new Date().toISOString()
    await writeManifest(folder, manifest)
  }
  tell(
    `${manifest.rows.toLocaleString('en-US')} rows in ${manifest.windows.length} files, complete in ${folder}`,
  )
  if (manifest.next_since !== null) tell(`next time, into another folder: --since ${manifest.next_since}`)
}

/** Errors of the server that a smaller answer need not have: time, rows or bytes, memory. */
const TOO_MUCH = [159, 396, 241]
/** With so many parts the rows are not what is too much. */
const PARTS_MAX = 4_096

/** Writes the file of a window. @returns the window as it is done, or two that take its place */
async function writeWindow(exporting: Export, window: Window, cut: Micros): Promise<Window[]> {
  const { options, ask, folder, columns, settings } = exporting
  const { name, settings: ofFormat, countRows } = FILE_FORMATS[options.format]
  const query = `${queryOf(options.view, columns, window, cut)} FORMAT ${name}`
  const file = path.join(folder, window.file)
  try {
    const answer = await ask(query, ofFormat)
    const body = withErrors(answer, (err) => lost(settings.url, err))
    const written = await writeWholeFile(file, async (draft) => {
      const hash = createHash('sha256')
      let bytes = 0
      for await (const part of body) {
        hash.update(part)
        bytes += part.length
        await draft.writeFile(part)
      }
      const rows = await countRows(draft, bytes)
      if (rows === undefined) throw notAnEndpoint(settings.url, `with something other than ${name}`)
      return { rows, bytes, sha256: hash.digest('hex') }
    })
    return [{ ...window, ...written }]
  } catch (err) {
    if (err instanceof QueryError && TOO_MUCH.includes(err.code) && window.part[1] < PARTS_MAX)
      return halve(window)
    throw err
  }
}

/** Tells the errors of the connection from those of the disk. */
async function* withErrors(
  body: AsyncIterable<unknown>,
  onLost: (err: unknown) => Error,
): AsyncGenerator<Buffer> {
  const parts = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await parts.next().catch((err: unknown) => {
        throw onLost(err)
      })
      if (next.done === true) return
      yield next.value as Buffer
    }
  } finally {
    await parts.return?.()
  }
}

/** Says in one sentence why the export cannot go on. */
async function explained(
  err: unknown,
  { options, settings, read, folder }: Pick<Export, 'options' | 'settings' | 'read' | 'folder'>,
): Promise<unknown> {
  if (err instanceof QueryError)
    switch (err.code) {
      case 516:
        return new StartupError(
          `${showUrl(settings.url)} does not know the user ${settings.user}, or the password of ${settings.passwordSource} is wrong`,
        )
      case 60: {
        const views = await read<[string]>('SHOW TABLES').catch(() => [])
        return new StartupError(
          `there is no view ${options.view}; there are: ${views.flat().sort().join(', ')}`,
        )
      }
      case 497:
        return new StartupError(`${settings.user} may not read the view ${options.view}`)
      default:
        return new StartupError(`${showUrl(settings.url)} refused: ${err.message}`)
    }
  if (!(err instanceof Error && 'code' in err && 'syscall' in err)) return err
  return err.code === 'ENOSPC'
    ? new StartupError(
        `the disk of ${folder} is full: make room and run the same command again, and it goes on`,
      )
    : new StartupError(`cannot write to ${folder}: ${err.message}`)
}
