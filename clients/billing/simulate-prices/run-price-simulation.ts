import { readFile } from 'node:fs/promises'
import cliProgress from 'cli-progress'
import { typedPath } from '../../../shared/config/typed-path.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { printableJson } from '../../../shared/text/printable.ts'
import type { SchemaOf } from '../../contract.ts'
import type { Ask } from '../../core/ask.ts'
import { connect, type ConnectionSettings, readConnection } from '../../core/connection.ts'
import { EXIT_INTERRUPTED, EXIT_OK, printHelp, type ProgramContext } from '../../core/program.ts'
import { retryNotes } from '../../core/retry-notes.ts'
import type { Body } from '../../sdk/src/node.ts'
import { accountsReport, largestReport, totalsReport } from './price-report.ts'
import { type CardName, priceSimulations } from './price-simulations.ts'
import { SIMULATE_PRICES_HELP } from './simulate-prices-help.ts'
import { readSimulatePricesOptions, type SimulatePricesOptions } from './simulate-prices-options.ts'

const PAGE_MAX = 100

/**
 * npm run simulate-prices: shows what accounts would pay by a rate card, compared with what they pay.
 *
 * @returns 0 when all went well, 130 when it was interrupted
 * @throws UsageError when the options are not valid, StartupError when the program cannot continue
 */
export async function runPriceSimulation(context: ProgramContext): Promise<number> {
  const options = readSimulatePricesOptions(context.args, Math.floor(Date.now() / 1_000))
  if (options === undefined) {
    printHelp(context, SIMULATE_PRICES_HELP)
    return EXIT_OK
  }
  const changes = await readChanges(options.changesFile, context.env)
  const settings = await readConnection(options.connection, context, 'api-key')
  const connection = connect(settings, 1, context.signal, retryNotes(context.err).add)
  try {
    await simulate({ options, changes, settings, ask: connection.ask }, context)
    return EXIT_OK
  } catch (err) {
    if (!context.signal.aborted) throw err
    return EXIT_INTERRUPTED
  } finally {
    connection.close()
  }
}

async function readChanges(file: string | undefined, env: NodeJS.ProcessEnv): Promise<unknown> {
  if (file === undefined) return undefined
  const path = typedPath(file, env)
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (err) {
    const why = err instanceof Error ? err.message : String(err)
    throw new StartupError(`--changes: ${path} cannot be read as JSON: ${why}`, { cause: err })
  }
}

interface Simulating {
  options: SimulatePricesOptions
  changes: unknown
  settings: ConnectionSettings
  ask: Ask
}

async function simulate({ options, changes, settings, ask }: Simulating, context: ProgramContext) {
  const tally = priceSimulations(ask)
  const card = await tally.findCard(options.card, 'card')
  const against = ['contracts', 'none'].includes(options.against)
    ? undefined
    : await tally.findCard(options.against, 'against')
  const body = {
    start_at: options.startAt,
    end_at: options.endAt,
    cadence: options.cadence,
    changes,
    against: against?.id ?? options.against,
    account_ids: options.accountIds,
    limit: PAGE_MAX,
  } as Body<'simulateRateCard'> // Tally checks what was typed
  if (!options.json) for (const line of plan(options, card, against, settings)) context.out(line)
  const first = await tally.simulate(card.id, body)
  const { totals, currency, usage_as_of: usageAsOf } = first
  if (totals === undefined) throw new StartupError('an answer has no totals: is this the URL of a Tally?')
  const accounts =
    options.all || options.accountIds !== undefined
      ? await listAll(first, totals.accounts, context, (startingAfter) =>
          tally.simulate(card.id, { ...body, starting_after: startingAfter }),
        )
      : undefined
  if (options.json) {
    context.out(printableJson({ currency, usage_as_of: usageAsOf, totals, data: accounts ?? [] }))
    return
  }
  context.out(`in ${currency}, with all usage that was accepted before ${timeText(usageAsOf)}`)
  const listed = accounts === undefined ? largestReport(totals) : ['', ...accountsReport(accounts)]
  for (const line of ['', ...totalsReport(totals), ...listed]) context.out(line)
}

/** Describes the simulation before it is run. */
function plan(
  { against, startAt, endAt, cadence }: SimulatePricesOptions,
  card: CardName,
  other: CardName | undefined,
  { url, keySource }: ConnectionSettings,
): string[] {
  const sides = { contracts: 'what each account pays', none: 'nothing' }[against]
  const baseline = other === undefined ? (sides ?? against) : JSON.stringify(other.name)
  const periods = cadence === undefined ? 'one period' : `by ${cadence.replace('_', ' ')}`
  return [
    `rate card ${JSON.stringify(card.name)} against ${baseline}, at ${url} (key: ${keySource})`,
    `usage from ${timeText(startAt)} to ${timeText(endAt)}, ${periods}`,
  ]
}

/** Reads the accounts of all pages. The first page is given. */
async function listAll(
  first: SchemaOf<'Simulation'>,
  count: number,
  { screen }: ProgramContext,
  next: (startingAfter: string) => Promise<SchemaOf<'Simulation'>>,
): Promise<SchemaOf<'SimulatedAccount'>[]> {
  const accounts = [...first.data]
  const bar =
    screen && first.has_more
      ? new cliProgress.SingleBar(
          { stream: screen, format: '{bar} {value} of {total} accounts', gracefulExit: false },
          cliProgress.Presets.shades_classic,
        )
      : undefined
  bar?.start(count, accounts.length)
  try {
    for (let page = first; page.has_more;) {
      page = await next(accounts.at(-1)?.account_id ?? '')
      accounts.push(...page.data)
      bar?.update(accounts.length)
    }
  } finally {
    bar?.stop()
  }
  return accounts
}

const timeText = (second: number): string =>
  `${new Date(second * 1_000).toISOString().slice(0, 19).replace('T', ' ')} UTC`
