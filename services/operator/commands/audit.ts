import { parseArgs } from 'node:util'
import { eventCountRepository } from '../../../shared/clickhouse/events/event-counts.ts'
import { storedOwnerRepository } from '../../../shared/clickhouse/events/stored-owners.ts'
import { usageDigestRepository } from '../../../shared/clickhouse/events/usage-digests.ts'
import { usageEventListRepository } from '../../../shared/clickhouse/events/usage-event-list.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { untilLoadedIn } from '../../../shared/event-log/until-loaded.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inEveryNamespace, inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { deadLetterRepository } from '../../../shared/postgres/dead-letters.ts'
import { everyRevisionRepository } from '../../../shared/postgres/event-revisions.ts'
import { runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import { referenceRepository } from '../../../shared/postgres/references.ts'
import { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { everyUsageCountRepository } from '../../../shared/postgres/usage-counts.ts'
import { printable } from '../../../shared/text/printable.ts'
import { microsecondClock, unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import { addsUp, type AuditResult, type Finding, isClean } from '../audit/audit-result.ts'
import { type AuditDeps, auditUsage } from '../audit/audit-usage.ts'
import { runDimensionAudit } from '../audit/run-dimension-audit.ts'
import type { Command, CommandContext } from '../command.ts'

const TELL_EVERY_MS = 3_000
/** Usage accepted this many seconds ago is loaded, as long as gateways and loaders keep up: see listedUpToOf. */
const SETTLED_S = 10
/** The time limit for counting a month. A month may have a hundred million events, which one thread counts. */
const COUNT_TIMEOUT_S = 3_600
const LAG_MAX_S = '300'
const LINES_A_ROUND = '1000000'
/** A round needs a minimum, because a few thousand lines of each partition may be ahead of other partitions. */
const LINES_A_ROUND_MIN = 100_000
const LINES_A_ROUND_MAX = 10_000_000

/** npm run audit: checks that no accepted event was lost, counted twice or altered. */
export const audit: Command = {
  name: 'audit',
  about: 'reads the event log again and looks up every event',
  notes: [
    'Each line of the log is counted, was reported again, is a dead letter, or is lost. Each event in ClickHouse must come',
    'from one of these lines, with the same quantity, time and properties. The audit covers the lines that the log still has.',
    'The log keeps loaded usage for EVENT_LOG_RETENTION_HOURS.',
    'Each correction must count, unless a later correction of its event counts. Corrections are kept forever. All corrections',
    'made since --from are checked. A correction that is not sent to the log after --lag-max-s is a finding, too.',
    'The number of events in each month is counted every six hours and kept forever. An event that ClickHouse has lost since',
    'then is a finding. This check covers all months, and does not depend on the log, --from or --to.',
    'Two kinds of events are listed but are no failure, because only their reporter can decide. The first are events with one',
    'idempotency key and several times. The second are events that were reported again with another quantity or other',
    'properties. Their first report counts. They are listed even when they were corrected later.',
    'The audit ends at the last event that is loaded. If a gateway was killed, it ends earlier for a minute and a half: before',
    'the reports that may still arrive from that gateway. It fails when records have been waiting to be loaded for longer than',
    '--lag-max-s.',
    'With --dimensions it compares something else instead: the rows that analysts read beside usage (accounts, customers,',
    'grants …) in PostgreSQL with their copies in ClickHouse. It prints their count and digest for each table, and names each',
    'row that differs. Rows that were just changed are waited for, half a minute at most.',
    '',
    '  --dimensions        compares the copies of accounts, customers, grants … and not usage',
    '  --from, --to TIME   only what was accepted or corrected in this range, such as 2026-01-31T12:00:00Z',
    `  --lag-max-s N       seconds that records may wait to be loaded, ${LAG_MAX_S} unless given`,
    `  --round-lines N     lines that are compared at once, ${LINES_A_ROUND} unless given, ${LINES_A_ROUND_MIN} or more: fewer take less`,
    '                      memory here and more of the time of ClickHouse',
    '',
  ],
  usage: [
    'audit',
    'audit -- [--from ISO-TIME] [--to ISO-TIME] [--lag-max-s N] [--round-lines N]',
    'audit -- --dimensions',
  ],
  async run(args, { pool, openUsage, openClickHouse }, context) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        from: { type: 'string' },
        to: { type: 'string' },
        'lag-max-s': { type: 'string', default: LAG_MAX_S },
        'round-lines': { type: 'string', default: LINES_A_ROUND },
        dimensions: { type: 'boolean', default: false },
      },
    })
    if (values.dimensions) return runDimensionAudit(pool, await openClickHouse(), context)
    const wanted = {
      from: parseSecond(values.from, '--from', 0),
      to: parseSecond(values.to, '--to', Infinity),
    }
    const lagMaxS = parseSeconds(values['lag-max-s'])
    const roundLines = parseRoundLines(values['round-lines'])
    const { clickhouse, log, listedUpTo } = await openUsage()
    const clock = microsecondClock()
    const deps = {
      log,
      events: usageEventRepository(clickhouse),
      list: usageEventListRepository(clickhouse),
      digests: usageDigestRepository(clickhouse),
      deadLetters: deadLetterRepository(pool),
      counts: { list: () => inEveryNamespace(pool, (db) => everyUsageCountRepository(db).list()) },
      eventCounts: eventCountRepository(await openClickHouse(COUNT_TIMEOUT_S)),
      retired: retiredNamespaceRepository(pool),
      revisions: revisionsOf(pool),
      owners: storedOwnerRepository(await openClickHouse(COUNT_TIMEOUT_S)),
      listExisting: (namespaceId: string, accountIds: readonly string[]) =>
        inNamespace(pool, namespaceId, (db) =>
          referenceRepository(db).listExisting(namespaceId, accountIds, []),
        ),
      untilLoaded: untilLoadedIn(log, SETTLED_S * 1_000),
      listedUpTo,
      clock,
      onProgress: progressTo(context),
      signal: context.signal,
    }
    const startedAt = performance.now()
    const result = await runExclusively(pool, 'audit', () => auditUsage(deps, wanted, lagMaxS, roundLines))
    const now = unixSeconds(clock())
    const isBehind = result.to < wanted.to && unreadSeconds(result, now) > lagMaxS
    const isShort = result.to < Math.min(wanted.to, now - SETTLED_S)
    for (const line of describe(result, now, isBehind, isShort)) context.print(line)
    context.print(`took ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
    return isClean(result) && !isBehind ? 0 : 1
  },
}

/** Reads revisions of all namespaces, each query in a transaction of its own. */
function revisionsOf(pool: Pool): AuditDeps['revisions'] {
  const ask = <T>(query: (revisions: ReturnType<typeof everyRevisionRepository>) => Promise<T>) =>
    inEveryNamespace(pool, (db) => query(everyRevisionRepository(db)))
  return {
    listCorrected: (...asked) => ask((revisions) => revisions.listCorrected(...asked)),
    listCorrectedAt: (places) => ask((revisions) => revisions.listCorrectedAt(places)),
    listNewest: (keys) => ask((revisions) => revisions.listNewest(keys)),
    listMissing: (keys) => ask((revisions) => revisions.listMissing(keys)),
    listFirst: (keys) => ask((revisions) => revisions.listFirst(keys)),
  }
}

function parseSecond(text: string | undefined, option: string, missing: number): number {
  if (text === undefined) return missing
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new UsageError(`${option} must be a time such as 2026-01-31T12:00:00Z`)
  return Math.floor(at / 1_000)
}

function parseSeconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError('--lag-max-s must be a whole number of seconds')
  return Number(text)
}

function parseRoundLines(text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= LINES_A_ROUND_MIN && Number(text) <= LINES_A_ROUND_MAX)
    return Number(text)
  throw new UsageError(
    `--round-lines must be a whole number from ${LINES_A_ROUND_MIN} to ${LINES_A_ROUND_MAX}`,
  )
}

/** Prints a line every few seconds, to show that the audit is still running. */
function progressTo({ showProgress }: CommandContext): (progress: { readTo: number; lines: number }) => void {
  let toldAt = performance.now()
  return ({ readTo, lines }) => {
    if (performance.now() - toldAt < TELL_EVERY_MS) return
    toldAt = performance.now()
    showProgress(`accepted up to ${timeOf(readTo)}, ${lines} lines so far`)
  }
}

/** How long the oldest record that is not loaded has been waiting. */
const unreadSeconds = ({ unread }: AuditResult, now: number): number =>
  unread.oldestAt === undefined ? 0 : now - unixSeconds(unread.oldestAt)

function describe(result: AuditResult, now: number, isBehind: boolean, isShort: boolean): string[] {
  const { from, to, logged, counted, superseded, dead, reset, lost, stored, findings, findingsMore } = result
  const { corrections, contradicted, contradictions, sharedKeys } = result
  const verdict = `${isBehind || isShort ? 'what was audited adds up' : 'everything adds up'}${otherwise(contradicted)}`
  return [
    `accepted from ${timeOf(from)} to ${timeOf(to)}`,
    `lines in the log      ${logged}`,
    `  counted             ${counted}`,
    `  reported again      ${superseded}`,
    `  reported otherwise  ${contradicted}`,
    `  in the dead letters ${dead}`,
    `  of what was reset   ${reset}`,
    `  lost                ${lost}`,
    `events in ClickHouse  ${stored}`,
    `counted by month      ${result.countedByMonth || 'not yet'}`,
    `not loaded yet        ${describeUnread(result, now)}`,
    `corrections           ${corrections.made}`,
    `  counted             ${corrections.applied}`,
    `  corrected again     ${corrections.followed}`,
    `  on their way        ${corrections.waiting}`,
    `  not applied         ${corrections.unapplied}`,
    ...contradictions.map((found) => describePlaced('REPORTED OTHERWISE', found)),
    ...sharedKeys.map((ids) => `ONE KEY, SEVERAL TIMES: ${ids.join(', ')}`),
    ...result.missing.map(
      ({ month, missing, counted }) =>
        `MISSING: ${missing} of ${counted} events that occurred in ${month}, counted before and stored no more`,
    ),
    ...findings.map(describeFinding),
    ...(findingsMore > 0 ? [`and ${findingsMore} more findings`] : []),
    ...(addsUp(result)
      ? []
      : ['the numbers do not add up: their parts are not all lines of the log, or not all corrections']),
    ...(isBehind ? [`THE LOADER IS BEHIND: nothing accepted since ${timeOf(to)} was audited`] : []),
    ...(isShort && !isBehind
      ? [
          `nothing accepted since ${timeOf(to)} was audited: it may be on its way from a gateway that fell silent, try again later`,
        ]
      : []),
    isClean(result) ? verdict : `${findings.length + findingsMore + result.missing.length} findings`,
  ]
}

function describeUnread(result: AuditResult, now: number): string {
  const { records, oldestAt } = result.unread
  const count = `${records} ${records === 1 ? 'record' : 'records'}`
  if (oldestAt === undefined) return count
  const minutes = Math.floor(unreadSeconds(result, now) / 60)
  return `${count}, the oldest accepted ${timeOf(unixSeconds(oldestAt))}, ${minutes} min ago`
}

const timeOf = (second: number): string =>
  second === 0 ? 'the beginning' : new Date(second * 1_000).toISOString()

const otherwise = (reports: number): string =>
  reports === 0
    ? ''
    : `, and ${reports} ${reports === 1 ? 'report is' : 'reports are'} not as the first of the same event, which counts`

const describeFinding = ({ kind, ...found }: Finding): string => describePlaced(kind.toUpperCase(), found)

function describePlaced(
  kind: string,
  { eventId, accountId, position, detail }: Omit<Finding, 'kind'>,
): string {
  const where =
    position === undefined
      ? ''
      : ` (partition ${position.partition}, offset ${position.offset}, line ${position.line})`
  return `${kind}: ${eventId ?? accountId ?? 'unreadable line'}${where}${detail === '' ? '' : `: ${printable(detail)}`}`
}
