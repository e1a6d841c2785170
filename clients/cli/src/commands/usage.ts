import { type Command, Option } from 'commander'
import { type Answer, decimals, type Tally } from '../../../sdk/src/node.ts'
import { barsOf } from '../bars.ts'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import { OPERATIONS } from '../operations.gen.ts'
import { type Printer, timeText } from '../print.ts'
import { accountIdOf, sourceOf } from '../references.ts'
import { parseSeconds } from '../request.ts'
import { withClient } from './command-tools.ts'

type PeriodUsage = Answer<'getAccountDailyUsage'>
type Aggregation = PeriodUsage['aggregation']

interface UsageOptions {
  from?: string
  to?: string
  metric?: string
  aggregation: Aggregation
}

/** The usage of a metric or currency on a day. */
interface DayUsage {
  day: string
  metric_id: string | null
  currency: string | null
  quantity: string
}

const DAY_S = 86_400
const DAYS = 30
const AGGREGATIONS =
  OPERATIONS.find(({ id }) => id === 'getAccountDailyUsage')?.fields.find(
    ({ name }) => name === 'aggregation',
  )?.choices ?? []

/** Adds `tally usage ACCOUNT`. */
export function addUsage(program: Command, context: CliContext): void {
  const command = program
    .command('usage')
    .summary('Shows the usage of an account by day; usage get adds up all accounts.')
    .description('Shows the usage of an account by day, in UTC. ACCOUNT and METRIC are ids or external ids.')
    .argument('<account>')
    .option('--from <time>', `The first second; without it, ${DAYS} days before --to.`)
    .option('--to <time>', "The end, which is not included; without it, the company's time now.")
    .option('--metric <metric>', 'Only this metric; currency:usd is a currency.')
    .addOption(
      new Option('--aggregation <text>', 'How the usage of a day is added up.')
        .choices([...AGGREGATIONS])
        .default('sum'),
    )
  command.action(async (account: string) => {
    const options = command.opts<UsageOptions>()
    const { signal } = context
    await withClient(context, command.optsWithGlobals<GlobalOptions>(), async (client, tools) => {
      const accountId = await accountIdOf(client, account, signal)
      const only = options.metric === undefined ? undefined : await sourceOf(client, options.metric, signal)
      const query = { ...(await rangeOf(client, options, signal)), aggregation: options.aggregation }
      const answer = await client.accounts.usageDaily(accountId, query, { signal })
      if (tools.options.json === true) {
        tools.printer.json(answer)
        return
      }
      const days = daysOf(answer).filter((one) => only === undefined || isOf(one, only))
      if (!tools.printer.isTable) tools.printer.items(days.map((one) => ({ ...one })))
      else await showSources(client, days, answer, tools.printer, signal)
    })
  })
}

async function rangeOf(
  client: Tally,
  { from, to }: UsageOptions,
  signal: AbortSignal,
): Promise<{ start_at: number; end_at: number }> {
  const end =
    to === undefined ? (await client.caller.get({ signal })).now + 1 : Number(parseSeconds('--to', to))
  const start = from === undefined ? Math.max(end - DAYS * DAY_S, 0) : Number(parseSeconds('--from', from))
  return { start_at: start, end_at: end }
}

const daysOf = ({ data }: PeriodUsage): DayUsage[] =>
  data.flatMap(({ period_start_at: at, data: lines }) =>
    lines.map((line) => ({ day: timeText(at).slice(0, 10), ...line })),
  )

const isOf = (line: DayUsage, source: { metric_id: string } | { currency: string }): boolean =>
  'currency' in source ? line.currency === source.currency : line.metric_id === source.metric_id

/** Shows each metric and currency: its days with their exact figures, and bars that compare them. */
async function showSources(
  client: Tally,
  days: readonly DayUsage[],
  { aggregation, data }: PeriodUsage,
  printer: Printer,
  signal: AbortSignal,
): Promise<void> {
  if (days.length === 0) printer.line('none')
  const isAddedUp = aggregation === 'sum' || aggregation === 'count'
  for (const [index, [source, lines]] of [...bySource(days)].entries()) {
    if (index > 0) printer.line('')
    printer.line(await headingOf(client, source, signal))
    const shown = isAddedUp ? withEmptyDays(lines, data) : lines
    for (const line of barLines(shown, printer.columns)) printer.line(line)
    if (isAddedUp)
      printer.line(`total       ${lines.reduce((sum, { quantity }) => decimals.add(sum, quantity), '0')}`)
  }
}

function bySource(days: readonly DayUsage[]): Map<string, DayUsage[]> {
  const sources = new Map<string, DayUsage[]>()
  for (const day of days) {
    const source = day.metric_id ?? `currency:${day.currency ?? ''}`
    sources.set(source, [...(sources.get(source) ?? []), day])
  }
  return sources
}

/** Adds the days without usage, from the first one with usage to the last. */
function withEmptyDays(
  lines: readonly DayUsage[],
  data: PeriodUsage['data'],
): Pick<DayUsage, 'day' | 'quantity'>[] {
  const [first = '', last = ''] = [lines[0]?.day, lines.at(-1)?.day]
  const quantities = new Map(lines.map(({ day, quantity }) => [day, quantity]))
  return data
    .map(({ period_start_at: at }) => timeText(at).slice(0, 10))
    .filter((day) => day >= first && day <= last)
    .map((day) => ({ day, quantity: quantities.get(day) ?? '0' }))
}

async function headingOf(client: Tally, source: string, signal: AbortSignal): Promise<string> {
  if (source.startsWith('currency:')) return source
  const { name, measurement_units: units } = await client.metrics.get(source, { signal })
  return `${name}${units === '' ? '' : `, in ${units}`} (${source})`
}

const DAY_COLUMNS = 10
const GAPS = 4
const BAR_MIN = 8

/** The figure comes before the bar, so that it is whole on a narrow terminal, too. */
function barLines(lines: readonly Pick<DayUsage, 'day' | 'quantity'>[], columns: number): string[] {
  const width = Math.max(...lines.map(({ quantity }) => quantity.length))
  const bars = barsOf(
    lines.map(({ quantity }) => quantity),
    Math.max(columns - DAY_COLUMNS - GAPS - width, BAR_MIN),
  )
  return lines.map(({ day, quantity }, index) =>
    `${day}  ${quantity.padStart(width)}  ${bars[index] ?? ''}`.trimEnd(),
  )
}
