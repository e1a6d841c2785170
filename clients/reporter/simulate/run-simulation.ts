import { LAST_SECOND } from '../../../shared/domain/time-range.ts'
import { connect, type ConnectionSettings, readConnection } from '../../core/connection.ts'
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, printHelp, type ProgramContext } from '../../core/program.ts'
import { retryNotes } from '../../core/retry-notes.ts'
import { tallyResources } from '../tally-resources.ts'
import { earliestEventAt } from './made-up-usage.ts'
import type { ProbeOptions } from './probe-visibility.ts'
import { sendMadeUpUsage } from './send-made-up-usage.ts'
import { SIMULATE_HELP } from './simulate-help.ts'
import { readSimulateOptions, type SimulateOptions } from './simulate-options.ts'
import { ensureSimulatedResources } from './simulated-resources.ts'
import { SimulationStats } from './simulation-stats.ts'
import { UsageTotals } from './usage-totals.ts'
import { type Difference, readSettledTotals, verifyUsage } from './verify-usage.ts'
import { whileProbing } from './while-probing.ts'

const DIFFERENCES_SHOWN_MAX = 20

/**
 * npm run simulate: reports made-up but lifelike usage.
 *
 * @returns 0 when all went well, 1 when --verify found a difference, 130 when it was interrupted
 * @throws UsageError when the options are not valid, StartupError when the program cannot continue
 */
export async function runSimulation(context: ProgramContext): Promise<number> {
  const options = readSimulateOptions(context.args)
  if (options === undefined) {
    printHelp(context, SIMULATE_HELP)
    return EXIT_OK
  }
  const notes = retryNotes(context.err)
  const settings = await readConnection(options.connection, context, 'test-api-key')
  context.out(planOf(options, settings))
  const connection = connect(settings, options.connectionsMax, context.signal, notes.add)
  // Probes have a connection of their own: they measure balances, not how busy the other connections are.
  const probes = connect(settings, 1, context.signal, notes.add)
  try {
    return await simulate(options, { send: connection.ask, probe: probes.ask }, context)
  } catch (err) {
    if (!context.signal.aborted) throw err
    return EXIT_INTERRUPTED
  } finally {
    connection.close()
    probes.close()
  }
}

/** Describes the run in one line, with the company that gets the usage. */
function planOf(options: SimulateOptions, { url, apiKey, keySource }: ConnectionSettings): string {
  const { rate, secondsMax, eventsMax } = options
  const pace = rate === undefined ? 'as fast as possible' : `${rate.toLocaleString('en-US')} events a second`
  const limits = [
    ...(secondsMax === Infinity ? [] : [`for ${secondsMax} s`]),
    ...(eventsMax === Infinity ? [] : [`up to ${eventsMax.toLocaleString('en-US')} events`]),
  ]
  const [, mode] = /^tally_(live|test)_/.exec(apiKey) ?? []
  const company = mode === undefined ? 'a company' : `a ${mode} company`
  return `made-up usage for ${company} at ${url} (key: ${keySource}): ${[pace, ...limits].join(', ')}`
}

interface Asks {
  send: ProbeOptions['ask']
  probe: ProbeOptions['ask']
}

async function simulate(options: SimulateOptions, asks: Asks, context: ProgramContext): Promise<number> {
  const { run, accounts, seed } = options
  const resources = tallyResources(asks.send)
  const simulated = await ensureSimulatedResources(resources, accounts, options.runIsNamed ? run : undefined)
  const startAt = options.startAt ?? Math.floor(Date.now() / 1_000)
  const range = { startAt: Math.max(earliestEventAt(startAt, options), 0), endAt: LAST_SECOND }
  if (options.verify && !options.runIsNamed)
    context.out('reading what is there already, to compare at the end …')
  // A named run has accounts of its own, and may repeat an earlier run. All usage of these accounts is from the same
  // run.
  const before =
    options.verify && !options.runIsNamed
      ? await readSettledTotals(resources, simulated.accountIds, range, context.signal)
      : new UsageTotals()
  context.out(
    `${accounts} accounts, seed ${seed}, run ${run}, events from ${new Date(startAt * 1_000).toISOString()}`,
  )
  const sent = new UsageTotals()
  const stats = new SimulationStats()
  const probe: ProbeOptions = {
    ...simulated.probe,
    ask: asks.probe,
    run: `${run}-${Date.now()}`, // even a repeated run has new probes
    everyMs: options.probeEveryMs,
    signal: context.signal,
    onVisible: (ms) => {
      stats.visible.add(ms)
    },
  }
  const { signal } = context
  const ms = await whileProbing(probe, stats, context.out, () =>
    sendMadeUpUsage({ options, simulated, startAt, ask: asks.send, stats, totals: sent, signal }),
  )
  const due =
    options.rate === undefined || signal.aborted
      ? undefined
      : Math.min(Math.floor(options.rate * options.secondsMax), options.eventsMax)
  for (const line of stats.summary(ms, due)) context.out(line)
  if (signal.aborted) return EXIT_INTERRUPTED
  if (!options.verify) return EXIT_OK
  context.out(
    `waiting until all is visible, for up to ${options.verifyWaitMs / 1_000} s, and comparing totals …`,
  )
  const { accountIds } = simulated
  const differences = await verifyUsage({
    resources,
    accountIds,
    range,
    before,
    sent,
    waitMs: options.verifyWaitMs,
  })
  return tellVerdict(differences, sent, context)
}

function tellVerdict(
  differences: readonly Difference[],
  sent: UsageTotals,
  { out, err }: Pick<ProgramContext, 'out' | 'err'>,
): number {
  if (differences.length === 0) {
    const totals = sent.accountIds().reduce((count, id) => count + sent.sourcesOf(id).length, 0)
    out(`verified            ${totals} totals of ${sent.accountIds().length} accounts are exact`)
    return EXIT_OK
  }
  for (const { accountId, source, text } of differences.slice(0, DIFFERENCES_SHOWN_MAX))
    err(`WRONG: ${accountId} ${source}: ${text}`)
  err(`${differences.length} totals are wrong`)
  return EXIT_FAILED
}
