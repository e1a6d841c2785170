import type { Tally } from '../../../sdk/src/node.ts'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import { openClient } from '../connection.ts'
import { makePrinter, type Printer } from '../print.ts'

/** What a command needs. */
export interface CommandTools {
  context: CliContext
  options: GlobalOptions
  printer: Printer
}

/** Does the work of a command with a client. */
export async function withClient<T>(
  context: CliContext,
  options: GlobalOptions,
  work: (client: Tally, tools: CommandTools) => Promise<T>,
): Promise<T> {
  const client = await openClient(options, context.env)
  try {
    return await work(client, { context, options, printer: makePrinter(context, options) })
  } finally {
    client.close()
  }
}
