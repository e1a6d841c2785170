import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { Answer, Tally } from '../../../sdk/src/node.ts'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import { failureOf, isTemporary } from '../exit-codes.ts'
import { timeText } from '../print.ts'
import { accountIdOf, sourceOf } from '../references.ts'
import { type CommandTools, withClient } from './command-tools.ts'

type Balance = Answer<'getAccountBalance'>

interface BalanceOptions {
  watch?: true
  every: number
}

const EVERY_S = 2

/** Adds `tally balance ACCOUNT METRIC`. */
export function addBalance(program: Command, context: CliContext): void {
  const command = program
    .command('balance')
    .summary('Shows what an account has left of a metric or currency.')
    .description(
      'Shows what is left of a metric. ACCOUNT and METRIC are ids or external ids; currency:usd is a currency.',
    )
    .argument('<account>')
    .argument('<metric>')
    .option('--watch', 'Shows the balance again each time it has changed, until Ctrl-C.')
    .option('--every <seconds>', 'How often --watch asks.', readSeconds, EVERY_S)
  command.action(async (account: string, metric: string) => {
    const { watch, every } = command.opts<BalanceOptions>()
    await withClient(context, command.optsWithGlobals<GlobalOptions>(), async (client, tools) => {
      const { signal } = context
      const accountId = await accountIdOf(client, account, signal)
      const query = await sourceOf(client, metric, signal)
      const get = () => client.accounts.balance(accountId, query, { signal })
      if (watch === true) await watchBalance(get, every, tools)
      else tools.printer.object(await get())
    })
  })
}

function readSeconds(text: string): number {
  const seconds = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && seconds >= 1 && seconds <= 3_600) return seconds
  throw new InvalidArgumentError('It must be a number from 1 to 3600.')
}

/** Ends with an error, at the latest when the signal ends it. */
async function watchBalance(
  get: () => ReturnType<Tally['accounts']['balance']>,
  everyS: number,
  { context, printer }: CommandTools,
): Promise<never> {
  let shown: string | undefined
  for (;;) {
    const balance = await get().catch((err: unknown) => {
      if (!isTemporary(err)) throw err
      printer.note(failureOf(err)?.text ?? '')
      return undefined
    })
    const text = balance && JSON.stringify(balance)
    if (balance !== undefined && text !== shown) {
      shown = text
      if (printer.isTable) printer.line(`${timeText(context.now())}  ${changeText(balance)}`)
      else printer.json(balance)
    }
    await sleep(everyS * 1_000, undefined, { signal: context.signal })
  }
}

const changeText = ({ balance, grant_total: granted, usage_total: used }: Balance): string =>
  `${balance} (${granted} granted, ${used} used)`
