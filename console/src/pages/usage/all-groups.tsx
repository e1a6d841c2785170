import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { type AnsweredUsage, groupedUsageReading } from '../../api/queries/usage.ts'
import type { CsvCell } from '../../format/csv.ts'
import { countText } from '../../format/decimal.ts'
import { DAY_S, utcDay } from '../../format/time.ts'
import { usageSql } from '../../format/usage-sql.ts'
import { measuredIn } from '../../parts/aggregation-picker.tsx'
import { downloadCsv } from '../../parts/download.ts'
import type { Source } from '../../parts/sources.ts'
import { SqlBlock } from '../../parts/sql-block.tsx'
import { useWork, Work } from '../../parts/work.tsx'
import { groupKey } from '../../plots/prepare/stacks.ts'

/** The most groups that one request names. */
const GROUPS_MAX = 1_000

/** All groups of an answer: as a file as far as one request goes, and as a statement for analysts. */
export function AllGroups({ answer: { usage, asked }, source }: { answer: AnsweredUsage; source: Source }) {
  const client = useClient()
  const groups = usage.data.length + (usage.rest?.groups ?? 0)
  const things = usage.property === null ? 'accounts' : 'values'
  const of = groups > GROUPS_MAX ? `${countText(GROUPS_MAX)} of ${countText(groups)}` : countText(groups)
  const work = useWork(async (signal) => {
    const all = await groupedUsageReading(client, { ...asked, limit: GROUPS_MAX }).fetch(signal)
    signal.throwIfAborted()
    const name = `usage-${utcDay(asked.start_at)}-${utcDay(asked.end_at - DAY_S)}-by-${usage.property ?? 'account'}.csv`
    downloadCsv(name, csvOf(all, measuredIn(source, usage.aggregation)))
  })
  return (
    <>
      <div className="accounts__csv">
        {!work.isRunning && (
          <button type="button" className="button" onClick={() => work.start()}>
            CSV of {of} {things}
          </button>
        )}
        <Work work={work} doing="Reading" counted={things} />
      </div>
      <SqlBlock sql={sqlOf(usage, asked, source)} summary={`SQL for all ${countText(groups)} ${things}`}>
        <p className="soft">
          {groups > GROUPS_MAX && `A file has at most ${countText(GROUPS_MAX)}, and the rest together. `}
          Analysts run this on their port; the guide for analysts says how.
        </p>
      </SqlBlock>
    </>
  )
}

function csvOf(
  { data, rest, without, total, property }: Schema<'GroupedUsage'>,
  source: Source,
): CsvCell[][] {
  const numbers = ({ quantity, event_count: events }: Schema<'UsageSeries'>): CsvCell[] => [
    { number: quantity ?? '' },
    { number: events.toString() },
  ]
  return [
    ['row', property ?? 'account id', `quantity, ${source.unit}`, 'events'],
    ...data.map((group) => [property === null ? 'account' : 'value', groupKey(group), ...numbers(group)]),
    ...(rest === null ? [] : [[`${rest.groups} others together`, '', ...numbers(rest)]]),
    ...(without === null ? [] : [[`without ${property ?? ''}`, '', ...numbers(without)]]),
    ['total', '', ...numbers(total)],
  ]
}

const sqlOf = (
  { property, aggregation }: Schema<'GroupedUsage'>,
  { start_at: startAt, end_at: endAt }: AnsweredUsage['asked'],
  { id, isMetric }: Source,
): string =>
  usageSql({
    source: id,
    isMetric,
    aggregation,
    startAt,
    endAt,
    groupBy: property === null ? 'account' : 'property',
    property: property ?? '',
  })
