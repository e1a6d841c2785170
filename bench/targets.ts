import { formatTable } from '../shared/text/format-table.ts'

/** The target of a measure. */
interface Target {
  name: string
  unit: string
  floor: number
  target: number
  /** Whether a higher or a lower value is better. */
  better: 'more' | 'less'
  /** Digits after the decimal point. */
  digits?: number
}

/** Tally's targets on 2 cores. Targets with a number of events in their name hold for that number. */
const TARGETS = {
  gatewayBatches: more('gateway, batches of 1,000, one process, durable', 'events/s', 40_000, 100_000),
  gatewaySingles: more('gateway, one event a request, durable', 'requests/s', 3_000, 7_000),
  loader: more('loader into ClickHouse', 'rows/s', 80_000, 150_000),
  sustained: more('all in one process, sustained, balances exact', 'events/s', 25_000, 50_000),
  lateAndTwice: {
    ...more('… with 2 % late and 5 % repeated, of that', '', 0.85, 0.95),
    digits: 2,
  },
  visible: less('accepted to visible in a balance, p99 at half load', 's', 2, 1),
  balanceP50: less('balance, 100 M events, 10,000 accounts, p50', 'ms', 15, 5),
  balanceP99: less('balance, 100 M events, 10,000 accounts, p99', 'ms', 60, 25),
  largest: less('what a balance asks, largest account against median one, p50', 'x', 3, 1.5),
  growth: less('growth of balance p50 from 1 M to 100 M events', 'x', 2, 1.2),
  rollups: more('rollups against raw FINAL, largest account', 'x', 10, 50),
  rareProperty: less('property query, rare value, 100 M events', 'ms', 100, 20),
  namespace: less('usage of a namespace by month, 90 days of 100 M events, p50', 'ms', 200, 200),
  eventBytes: less('stored bytes an event, events table', 'B', 100, 70),
  allBytes: less('stored bytes an event, all tables', 'B', 170, 120),
  memoryAtRest: less('all in one, resident memory at rest', 'GB', 1, 0.6),
  memoryLoaded: less('all in one, resident memory at 25,000 events/s', 'GB', 2, 1.2),
  firstBalances: {
    ...more('first balances of 1,000 accounts, 64 at once, five seconds, of an account itself', '', 0.3, 0.5),
    digits: 2,
  },
  firstBalancesP99: less('… p99 against that of an account itself', 'x', 8, 4),
  balancesAgain: { ...more('… asked again, of an account itself', '', 0.6, 0.8), digits: 2 },
  balancesAgainP99: less('… p99 against that of an account itself', 'x', 3, 2),
  balancesPerS: more('64 balances at once, nothing else going on', 'answers/s', 860, 3_000),
  balancesAtOnce: { ...more('… of the answers a second of an account itself', '', 0.6, 1), digits: 2 },
  balancesAtOnceP99: less('… p99 against that of an account itself', 'x', 3, 1.5),
  balancesBesideUsage: {
    ...more('… beside 2,000 events/s, of the answers of an account itself', '', 0.4, 0.6),
    digits: 2,
  },
  balancesBesideUsageP99: less('… p99 against that of an account itself', 'x', 5, 3),
  balancesBesideMuch: {
    ...more('… beside 10,000 events/s, of the answers of an account itself', '', 0.25, 0.4),
    digits: 2,
  },
  previewP50: less('invoice preview, 10 lines, 100 M events, p50', 'ms', 60, 30),
  previewP99: less('invoice preview, 10 lines, 100 M events, p99', 'ms', 150, 80),
  longPreviewP50: less('invoice preview, 200 lines without properties, p50', 'ms', 90, 45),
  longPreviewP99: less('invoice preview, 200 lines without properties, p99', 'ms', 200, 120),
  previewByPropertyFew: less('invoice preview, 200 lines by property, 1 M events, p99', 's', 0.3, 0.1),
  previewByProperty: less('invoice preview, 200 lines by property, 100 M events, p99', 's', 8, 4),
  previewsPerS: more('invoice previews, 10 lines, 8 at once', 'answers/s', 30, 70),
  ratingPerS: more('rating alone', 'lines/s', 100_000, 300_000),
  close: less('close of 10,000 contracts of 10 lines, 100 M events', 's', 120, 30),
  balancesWhileClosing: less('… p99 of balances meanwhile, against before', 'x', 3, 1.5),
  simulation: less('simulation, 10,000 accounts, 20 rates, a month, 100 M events', 's', 10, 3),
  rollupRows: less('rows that rollups read, at a steady rate, for each event', 'rows', 3, 3),
  besideGreed: less('p99 beside a greedy company, of 3 times alone and 50 ms', '', 1, 0.5),
  balancesBesideExport: less('p99 of balances beside an export, against without', 'x', 2, 1.1),
  balancesBesideAnalysts: less('… beside ten heavy analysts', 'x', 2, 1.1),
  failedBesideGreed: { ...less('… requests that failed', '', 0, 0), digits: 0 },
  whileImporting: less('balance while five years are imported, p50', 's', 1, 1),
} satisfies Record<string, Target>

function more(name: string, unit: string, floor: number, target: number): Target {
  return { name, unit, floor, target, better: 'more' }
}

function less(name: string, unit: string, floor: number, target: number): Target {
  return { name, unit, floor, target, better: 'less', digits: 2 }
}

export type Measure = keyof typeof TARGETS

/** A measured value, and its conditions if they differ from those of the target. */
interface Measured {
  measure: Measure
  value: number
  on?: string
}

type Verdict = 'target met' | 'floor met' | 'MISSED'

/** A measured value with its floor and target; used in tables and in the JSON of results. */
export interface Compared extends Measured {
  name: string
  unit: string
  floor: number
  target: number
  verdict: Verdict
}

export function compare(measured: Measured): Compared {
  const { name, unit, floor, target, better }: Target = TARGETS[measured.measure]
  const reaches = (bound: number) => (better === 'more' ? measured.value >= bound : measured.value <= bound)
  const verdict = reaches(target) ? 'target met' : reaches(floor) ? 'floor met' : 'MISSED'
  return { ...measured, name, unit, floor, target, verdict }
}

/** Makes this process end with the exit code 1 when a floor is missed. */
export function failWhenMissed(rows: readonly Compared[]): void {
  if (rows.some(({ verdict }) => verdict === 'MISSED')) process.exitCode = 1
}

/** A line for each measure, with its floor and target. */
export function formatCompared(rows: readonly Compared[]): string[] {
  const cells = rows.map((row) => {
    const { digits = 0 }: Target = TARGETS[row.measure]
    const show = (value: number) =>
      value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
    return [row.name, row.on ?? '', row.unit, show(row.value), show(row.floor), show(row.target), row.verdict]
  })
  return formatTable(['', 'on', 'unit', 'measured', 'floor', 'target', ''], cells, 3)
}
