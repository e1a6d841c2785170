import { parseArgs } from 'node:util'
import { usageEventListRepository } from '../../../shared/clickhouse/usage-event-list.ts'
import { usageEventRepository } from '../../../shared/clickhouse/usage-events.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { deadLetterRepository } from '../../../shared/postgres/dead-letters.ts'
import { auditUsage, isClean, type AuditResult, type Finding } from '../audit/audit-usage.ts'
import type { Command } from '../command.ts'

/** npm run audit: proves that nothing accepted was lost, doubled or altered. */
export const audit: Command = {
  name: 'audit',
  about: 'reads the event log again and looks up every event',
  notes: [
    'Each line of the log is counted, was reported again, is a dead letter, or is lost; each event in ClickHouse must come',
    'from one of them, with the same quantity, time and properties. It covers what the log still holds: usage that was',
    'loaded is kept there for EVENT_LOG_RETENTION_HOURS.',
    '',
    '  --from, --to TIME   only what was accepted in this range, such as 2026-01-31T12:00:00Z',
    '',
  ],
  usage: ['audit', 'audit -- --from ISO-TIME --to ISO-TIME'],
  async run(args, { pool, clickhouse, log, listedUpTo }, { print }) {
    const { values } = parseArgs({
      args: [...args],
      options: { from: { type: 'string' }, to: { type: 'string' } },
    })
    const wanted = {
      from: parseSecond(values.from, '--from', 0),
      to: parseSecond(values.to, '--to', Infinity),
    }
    const deadLetters = deadLetterRepository(pool)
    const events = usageEventRepository(clickhouse)
    const list = usageEventListRepository(clickhouse)
    const startedAt = performance.now()
    const result = await auditUsage({ log, events, list, deadLetters, listedUpTo }, wanted)
    for (const line of describe(result)) print(line)
    print(`took ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
    return isClean(result) ? 0 : 1
  },
}

function parseSecond(text: string | undefined, option: string, missing: number): number {
  if (text === undefined) return missing
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new UsageError(`${option} must be a time such as 2026-01-31T12:00:00Z`)
  return Math.floor(at / 1_000)
}

function describe(result: AuditResult): string[] {
  const { logged, counted, superseded, dead, lost, stored, findings, findingsMore } = result
  const adds = logged === counted + superseded + dead + lost
  return [
    `accepted from ${timeOf(result.from)} to ${timeOf(result.to)}`,
    `lines in the log      ${logged}`,
    `  counted             ${counted}`,
    `  reported again      ${superseded}`,
    `  in the dead letters ${dead}`,
    `  lost                ${lost}`,
    `events in ClickHouse  ${stored}`,
    ...findings.map(describeFinding),
    ...(findingsMore > 0 ? [`and ${findingsMore} more findings`] : []),
    ...(adds
      ? []
      : ['the numbers do not add up: counted, reported again, dead and lost are not all lines of the log']),
    isClean(result) ? 'everything adds up' : `${findings.length + findingsMore} findings`,
  ]
}

const timeOf = (second: number): string =>
  second === 0 ? 'the beginning' : new Date(second * 1_000).toISOString()

function describeFinding({ kind, eventId, place, detail }: Finding): string {
  const where =
    place === undefined ? '' : ` (partition ${place.partition}, offset ${place.offset}, line ${place.line})`
  return `${kind.toUpperCase()}: ${eventId ?? 'unreadable line'}${where}${detail === '' ? '' : `: ${detail}`}`
}
