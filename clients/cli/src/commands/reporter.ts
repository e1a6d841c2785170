import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { typedPath } from '../../../../shared/config/typed-path.ts'
import { StartupError } from '../../../../shared/errors/startup-error.ts'
import { retryRejected } from '../../../reporter/spool/retry-rejected.ts'
import { listSpools, readRejected, readSpool } from '../../../reporter/spool/spool-folders.ts'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import { findConnection } from '../connection.ts'
import { TryLaterError } from '../exit-codes.ts'
import { makePrinter, type Printer } from '../print.ts'
import { drainSpool, folderOf } from '../spool/drain-spool.ts'

/** A killed process gives no sign of life for a minute. Then its events are sent. */
const WAIT_S = 90

/** Adds `tally reporter`, for folders in which durable reporters keep events. */
export function addReporter(program: Command, context: CliContext): void {
  const reporter = program
    .command('reporter')
    .summary('The folder of a durable reporter: status, drain, rejected, retry-rejected.')
    .description('Shows and sends what durable reporters keep in a folder (UsageReporter with a spool).')
  const add = (
    name: string,
    about: string,
    run: (dir: string, printer: Printer, command: Command) => Promise<void>,
  ) => {
    const command = reporter.command(name).description(about).argument('<dir>')
    return command.action((typed: string) =>
      run(
        typedPath(typed, context.env),
        makePrinter(context, command.optsWithGlobals<GlobalOptions>()),
        command,
      ),
    )
  }
  add('status', 'Shows how many events wait, and how many were refused.', async (dir, printer) => {
    const folders = await listSpools(dir)
    printer.items(await Promise.all(folders.map(async (folder) => ({ ...(await readSpool(dir, folder)) }))))
  })
  add('rejected', 'Lists the events that Tally refused, with the reasons.', async (dir, printer) => {
    const folders = await listSpools(dir)
    printer.items((await Promise.all(folders.map((folder) => rejectedOf(dir, folder)))).flat())
  })
  add(
    'drain',
    'Sends the events of processes that ended, and waits until none is left.',
    async (dir, printer, command) => {
      const options = command.optsWithGlobals<GlobalOptions & { wait: number }>()
      const connection = await findConnection(options, context.env)
      const drained = await drainSpool(dir, connection, options.wait * 1_000, printer.note, context.signal)
      printer.object({ ...drained })
      if (drained.left > 0)
        throw new TryLaterError(`${drained.left} events are left${senders(drained.processes)}`)
      if (drained.rejected > 0)
        throw new StartupError(
          `Tally refused ${drained.rejected} events; tally reporter rejected ${dir} lists those that were kept`,
        )
    },
  ).option('--wait <seconds>', 'How long it waits at most.', readSeconds, WAIT_S)
  add(
    'retry-rejected',
    'Puts the events that Tally refused back, so that they are sent again, for example when their account exists.',
    async (dir, printer, command) => {
      const connection = await findConnection(command.optsWithGlobals<GlobalOptions>(), context.env)
      const folder = await folderOf(dir, connection)
      const { processes } = await readSpool(dir, folder)
      const today = new Date(context.now() * 1_000).toISOString().slice(0, 10)
      const events = await retryRejected(path.join(dir, folder), processes > 0 ? today : undefined)
      printer.object({ folder, events })
      if (processes > 0)
        printer.note('a process uses the folder, so what was refused today stays until it ended')
      else if (events > 0) printer.note(`to send them: tally reporter drain ${dir}`)
    },
  )
}

const senders = (processes: number): string =>
  processes > 0 ? '; a process that uses the folder sends its own' : ''

function readSeconds(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number of seconds.')
}

async function rejectedOf(dir: string, folder: string) {
  const files = await readRejected(path.join(dir, folder))
  return files.flatMap(({ events }) =>
    events.map(({ rejectedAt, reason, event }) => ({ folder, rejected_at: rejectedAt, reason, event })),
  )
}
