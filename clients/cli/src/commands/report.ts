import { type Command, InvalidArgumentError } from 'commander'
import { UsageError } from '../../../../shared/errors/usage-error.ts'
import { TallyError } from '../../../sdk/src/node.ts'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import { isTemporary } from '../exit-codes.ts'
import { timeText } from '../print.ts'
import { accountIdOf, sourceOf } from '../references.ts'
import { parseSeconds } from '../request.ts'
import { withClient } from './command-tools.ts'

interface ReportOptions {
  key?: string
  at?: string
  property?: Record<string, string>
}

const AMOUNT = /^-?\d{1,20}(\.\d{1,18})?$/

/** Adds `tally report ACCOUNT METRIC QUANTITY`. */
export function addReport(program: Command, context: CliContext): void {
  const command = program
    .command('report')
    .summary('Reports usage of an account, so that a repeat counts once.')
    .description(
      'Reports usage. ACCOUNT and METRIC are ids or external ids; currency:usd is a currency. Repeated with the same ' +
        '--key and --at, it counts once. A quantity below zero stands behind --.',
    )
    .argument('<account>')
    .argument('<metric>')
    .argument('<quantity>')
    .option('--key <text>', 'The key of the event; without it, a new one is made.')
    .option('--at <time>', 'When it happened; without it, now.')
    .option('--property <name=text>', 'A property of the event. May be repeated.', addProperty)
  command.action(async (account: string, metric: string, quantity: string) => {
    if (!AMOUNT.test(quantity))
      throw new UsageError(`${JSON.stringify(quantity)} is no amount; write it as 12.5`)
    const { key = crypto.randomUUID(), at, property } = command.opts<ReportOptions>()
    const second = at === undefined ? context.now() : Number(parseSeconds('--at', at))
    await withClient(context, command.optsWithGlobals<GlobalOptions>(), async (client, { printer }) => {
      const { signal } = context
      const accountId = await accountIdOf(client, account, signal)
      const source = await sourceOf(client, metric, signal)
      const event = {
        account_id: accountId,
        ...source,
        quantity,
        occurred_at: second,
        idempotency_key: key,
        ...(property && { properties: property }),
      }
      const reported = await client.events.report(event, { signal }).catch((err: unknown) => {
        // A repeat needs the same key and time. Otherwise it would be another event.
        if (isTemporary(err) || TallyError.is(err))
          printer.note(`to report this event again: --key '${key}' --at ${timeText(second)}`)
        throw err
      })
      printer.object(reported)
    })
  })
}

function addProperty(text: string, before: Record<string, string> | undefined): Record<string, string> {
  const [, name, value] = /^([^=]+)=([^]*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Write it as name=text.')
  return { ...before, [name]: value }
}
