import { createInterface } from 'node:readline/promises'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { printable } from '../../../shared/text/printable.ts'
import type { Tally } from '../../sdk/src/node.ts'
import type { CliContext, GlobalOptions } from './cli-context.ts'
import type { CliOperation } from './operation.ts'

/** Methods that take something away which somebody may be using. */
const HARMFUL = new Set(['archive', 'cancel', 'revoke', 'rotate', 'void'])

/**
 * Asks before an operation that may do harm in a live company, unless `--yes` was given.
 *
 * @returns whether to go on
 * @throws UsageError when nobody can be asked
 */
export async function mayGoOn(
  client: Tally,
  operation: CliOperation,
  path: readonly string[],
  options: GlobalOptions,
  context: CliContext,
): Promise<boolean> {
  if (!HARMFUL.has(operation.method) || options.yes === true) return true
  const { company } = await client.caller.get({ signal: context.signal })
  if (company.mode !== 'live') return true
  const what = `${operation.method} ${path.map(printable).join(' ')} in the live company ${printable(company.name)}`
  if (context.input.isTTY !== true) throw new UsageError(`to ${what}, add --yes`)
  return ask(`${what}? [y/N] `, context)
}

async function ask(question: string, { input, prompt, signal }: CliContext): Promise<boolean> {
  prompt(question)
  const lines = createInterface({ input })
  try {
    return /^y(es)?$/i.test((await lines.question('', { signal })).trim())
  } finally {
    lines.close()
  }
}
