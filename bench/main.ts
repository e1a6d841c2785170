import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { integerOption, numberOption } from '../clients/core/number-option.ts'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { isUsageError, UsageError } from '../shared/errors/usage-error.ts'
import { exitWith } from '../shared/lifecycle/exit-with.ts'
import { makeTempFolder } from '../test/support/temp-folder.ts'
import { benchAll } from './all.ts'
import { benchAnalysts } from './analysts.ts'
import { benchBalances } from './balances.ts'
import { benchClose } from './close.ts'
import { dataSetFolder } from './data-set/data-set.ts'
import { formatEvents, parseEvents } from './event-number.ts'
import { benchFreshness } from './freshness.ts'
import { benchHistory } from './history.ts'
import { benchIngest, LOGS } from './ingest.ts'
import { benchLoad } from './load.ts'
import { benchNeighbours } from './neighbours.ts'
import { benchPreviews } from './previews.ts'
import { benchQuery } from './query.ts'
import { benchRated } from './rated.ts'
import { benchRollups } from './rollups.ts'
import { benchScale } from './scale.ts'
import { benchSdk } from './sdk.ts'
import { benchSimulations } from './simulations.ts'
import { benchStorage } from './storage.ts'

const USAGE = `usage: npm run bench -- NAME [options]

  ingest     [--seconds N] [--log embedded|kafka]
             reports usage to a Tally of its own: single events, batches of 100 and of 1,000, each beside a bare Express
             handler that only parses the same bodies; batches of CloudEvents, too. Each is measured twice, for --seconds
             (8 unless given) after a warm-up: some three minutes for each event log: the embedded one in PostgreSQL, then
             Kafka, for which Java 17 and Maven must be there; --log takes one of them
  load       [--seconds N] [--rate N] [--late PERCENT] [--duplicates PERCENT]
             how many events a second all of Tally in one process takes and counts, with balances compared to the last digit;
             memory; the loader alone, each for --seconds (30 unless given). With --late or --duplicates 10 runs with such events
             and 10 without, each in a Tally of its own, in turn, half as long; --rate limits the events a second
  freshness  [--seconds N] [--rate N]
             how long after it was accepted an event is in a balance, at half of the most that Tally takes, or at --rate
  history    [--events N]
             imports --events (10M unless given) of five years, half in order of time and half in random order, and
             watches a balance during that time
  rollups    [--slots N] [--rate N] [--late PERCENT]
             how many rows rollups read for each event at --rate (3,000 a second unless given), over --slots (3) time slots of
             five minutes and one more; --late has some usage late
  balances   [--events N] [--seconds N] [--data FOLDER]
             balances of 10,000 accounts over 1 to 256 connections, beside nothing, usage that comes in and an import; each with an
             account itself and health in the same run, --seconds (5 unless given) each
  analysts   [--events N] [--seconds N] [--data FOLDER]
             50 balances a second beside nothing, an export and ten analysts with heavy queries, in turn, --seconds (20 unless
             given) each, three times
  previews   [--events N] [--requests N] [--data FOLDER]
             invoice previews of a month, of 10 lines and of 200, with properties and without, over HTTP, --requests (300 unless
             given) one after the other; 8 at once; rating alone
  close      [--events N] [--data FOLDER]
             previews of a period of 10,000 contracts, page after page, and balances at the same time
  rated      [--events N] [--contracts N] [--requests N] [--data FOLDER]
             ratings of --contracts (1,000 unless given) for the view rated_usage, of three months each: time, memory; the
             questions of analysts that read the view, --requests (10 unless given) each
  simulations [--events N] [--requests N] [--data FOLDER]
             a month of 10,000 accounts by a card of 20 rates and by another, --requests (10 unless given) one after the other; a
             page of accounts; balances beside simulations
  neighbours [--events N] [--seconds N] [--connections N] [--only TEXT] [--data FOLDER]
             whether a company that asks for much, over --connections (64 unless given), keeps another one from its answers;
             kinds of it whose names have the TEXT of --only, --seconds (12 unless given) each
  query      [--events N] [--requests N] [--data FOLDER]
             balances and usage of 10,000 accounts with --events (1M unless given) in 90 days, over HTTP, one request after
             the other; rollups beside the raw events
  scale      [--up-to N] [--requests N] [--data FOLDER]
             the same for 1M, 10M and 100M events, as far as --up-to (10M unless given), and a drawing
  sdk        [--seconds N] [--rate N]
             the processor time of a process that reports --rate (25,000 unless given) events a second: as import does it, by a
             reporter, and by one with a spool; no Tally behind it but a server that accepts all
  storage    [--events N] [--data FOLDER]
             bytes an event by table and column
  all        [--events N] [--data FOLDER]
             all of these but analysts, balances, close, history, neighbours, previews, rated, rollups, sdk and simulations, with 10M events, or up to --events 100M,
             and every figure in one table

  all, history, neighbours and rollups end with 1 when a floor is missed.

  --data keeps the made-up events below FOLDER and takes them from there the next time: 100M of them take some 12 GB, and
  an hour to make. --save FILE writes the results as JSON there instead of below bench/results`

const OPTIONS = {
  seconds: { type: 'string' },
  rate: { type: 'string' },
  slots: { type: 'string' },
  late: { type: 'string' },
  duplicates: { type: 'string' },
  log: { type: 'string' },
  events: { type: 'string' },
  'up-to': { type: 'string' },
  requests: { type: 'string' },
  contracts: { type: 'string' },
  connections: { type: 'string' },
  only: { type: 'string' },
  data: { type: 'string' },
  save: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

type Values = ReturnType<typeof parseWords>['values']
type Option = keyof typeof OPTIONS

interface Bench {
  /** The options besides --save. */
  options: readonly Option[]
  run(values: Values, print: (line: string) => void): Promise<void>
}

const SIZES = [1e6, 1e7, 1e8]
const SECONDS = { default: 8, min: 1, max: 600 }
const READ_SECONDS = { ...SECONDS, default: 5 }
const NEIGHBOUR_SECONDS = { ...SECONDS, default: 12 }
const ANALYST_SECONDS = { ...SECONDS, default: 20 }
const CONNECTIONS = { default: 64, min: 1, max: 1_000 }
const RUN_SECONDS = { ...SECONDS, default: 30 }
const RATE = { default: 0, min: 0, max: 1_000_000 }
const STEADY_RATE = { default: 3_000, min: 100, max: 100_000 }
const REPORTED_RATE = { ...STEADY_RATE, default: 25_000 }
const SLOTS = { default: 3, min: 1, max: 100 }
const PERCENT = { default: 0, min: 0, max: 50 }
const CONTRACTS = { default: 1_000, min: 1, max: 10_000 }
const REQUESTS = { default: 300, min: 10, max: 100_000 }

const BENCHES: Record<string, Bench> = {
  ingest: {
    options: ['seconds', 'log'],
    run: async (values, print) => {
      const seconds = integerOption('seconds', values.seconds, SECONDS)
      const logs = LOGS.filter((log) => values.log === undefined || values.log === log)
      if (logs.length === 0) throw new UsageError(`--log must be ${LOGS.join(' or ')}`)
      await benchIngest({ seconds, logs, save: await saveIn(values, 'ingest'), print })
    },
  },
  load: {
    options: ['seconds', 'rate', 'late', 'duplicates'],
    run: async (values, print) => {
      const seconds = integerOption('seconds', values.seconds, RUN_SECONDS)
      const latePercent = numberOption('late', values.late, PERCENT)
      const resentPercent = numberOption('duplicates', values.duplicates, PERCENT)
      const save = await saveIn(values, 'load')
      await benchLoad({ seconds, rate: rateOf(values), latePercent, resentPercent, save, print })
    },
  },
  freshness: {
    options: ['seconds', 'rate'],
    run: async (values, print) => {
      const seconds = integerOption('seconds', values.seconds, RUN_SECONDS)
      await benchFreshness({ seconds, rate: rateOf(values), save: await saveIn(values, 'freshness'), print })
    },
  },
  history: {
    options: ['events'],
    run: async (values, print) => {
      const events = eventsOf(values, '10M')
      await benchHistory({ events, save: await saveIn(values, `history-${formatEvents(events)}`), print })
    },
  },
  rollups: {
    options: ['slots', 'rate', 'late'],
    run: async (values, print) => {
      const slots = integerOption('slots', values.slots, SLOTS)
      const rate = integerOption('rate', values.rate, STEADY_RATE)
      const latePercent = numberOption('late', values.late, PERCENT)
      await benchRollups({ slots, rate, latePercent, save: await saveIn(values, 'rollups'), print })
    },
  },
  balances: {
    options: ['events', 'seconds', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const seconds = integerOption('seconds', values.seconds, READ_SECONDS)
      const save = await saveIn(values, `balances-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchBalances({ events, seconds, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  analysts: {
    options: ['events', 'seconds', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const seconds = integerOption('seconds', values.seconds, ANALYST_SECONDS)
      const save = await saveIn(values, `analysts-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchAnalysts({ events, seconds, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  previews: {
    options: ['events', 'requests', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const requests = integerOption('requests', values.requests, REQUESTS)
      const save = await saveIn(values, `previews-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchPreviews({ events, requests, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  close: {
    options: ['events', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const save = await saveIn(values, `close-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchClose({ events, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  rated: {
    options: ['events', 'contracts', 'requests', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const contracts = integerOption('contracts', values.contracts, CONTRACTS)
      const requests = integerOption('requests', values.requests, { ...REQUESTS, default: 10, min: 1 })
      const save = await saveIn(values, `rated-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchRated({ events, contracts, requests, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  simulations: {
    options: ['events', 'requests', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const requests = integerOption('requests', values.requests, { ...REQUESTS, default: 10, min: 1 })
      const save = await saveIn(values, `simulations-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchSimulations({ events, requests, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  neighbours: {
    options: ['events', 'seconds', 'connections', 'only', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const seconds = integerOption('seconds', values.seconds, NEIGHBOUR_SECONDS)
      const connections = integerOption('connections', values.connections, CONNECTIONS)
      const { only } = values
      const save = await saveIn(values, `neighbours-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchNeighbours({
          events,
          seconds,
          connections,
          only,
          folder: dataSetFolder(data, events),
          save,
          print,
        }),
      )
    },
  },
  query: {
    options: ['events', 'requests', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const requests = integerOption('requests', values.requests, REQUESTS)
      const save = await saveIn(values, `query-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchQuery({ events, requests, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  scale: {
    options: ['up-to', 'requests', 'data'],
    run: async (values, print) => {
      const most = parseEvents('up-to', values['up-to'] ?? '10M')
      const sizes = SIZES.filter((size) => size <= most)
      if (sizes.length === 0) throw new UsageError('--up-to must be at least 1M')
      const requests = integerOption('requests', values.requests, REQUESTS)
      const save = await saveIn(values, 'scale')
      await withData(values, (data) => benchScale({ sizes, requests, data, save, print }))
    },
  },
  sdk: {
    options: ['seconds', 'rate'],
    run: async (values, print) => {
      const seconds = integerOption('seconds', values.seconds, SECONDS)
      const rate = integerOption('rate', values.rate, REPORTED_RATE)
      await benchSdk({ seconds, rate, save: await saveIn(values, 'sdk'), print })
    },
  },
  storage: {
    options: ['events', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '1M')
      const save = await saveIn(values, `storage-${formatEvents(events)}`)
      await withData(values, (data) =>
        benchStorage({ events, folder: dataSetFolder(data, events), save, print }),
      )
    },
  },
  all: {
    options: ['events', 'data'],
    run: async (values, print) => {
      const events = eventsOf(values, '10M')
      if (!SIZES.slice(1).includes(events)) throw new UsageError('--events must be 10M or 100M')
      const save = await saveIn(values, 'all')
      await withData(values, (data) => benchAll({ events, data, save, print }))
    },
  },
}

/** `npm run bench -- NAME`: measures, prints tables, and writes JSON. */
async function main(): Promise<void> {
  const { values, positionals } = parseWords()
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`)
    return
  }
  const [name = '', ...rest] = positionals
  const bench = BENCHES[name]
  if (bench === undefined || rest.length > 0) throw new UsageError(USAGE)
  for (const option of Object.keys(values) as Option[])
    if (option !== 'save' && !bench.options.includes(option))
      throw new UsageError(`${name} takes no --${option}\n${USAGE}`)
  await bench.run(values, (line) => process.stdout.write(`${line}\n`))
}

const eventsOf = ({ events }: Values, fallback: string): number => parseEvents('events', events ?? fallback)

/** Events a second; undefined when there is no limit. */
const rateOf = (values: Values): number | undefined =>
  values.rate === undefined ? undefined : integerOption('rate', values.rate, RATE) || undefined

/** The file for a bench's results. */
async function saveIn({ save }: Values, name: string): Promise<string> {
  const file = save ?? path.join(PROJECT_ROOT, 'bench/results', `${name}.json`)
  await mkdir(path.dirname(file), { recursive: true })
  return file
}

/** Runs work on data sets in the folder of `--data`, or in a temporary folder that is deleted afterwards. */
async function withData({ data }: Values, work: (folder: string) => Promise<void>): Promise<void> {
  if (data !== undefined) return work(path.resolve(data))
  const folder = await makeTempFolder('bench')
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function parseWords() {
  try {
    return parseArgs({ allowPositionals: true, options: OPTIONS })
  } catch (err) {
    throw isUsageError(err) ? new UsageError(`${err.message}\n${USAGE}`) : err
  }
}

exitWith(main)
