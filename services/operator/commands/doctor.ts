import { parseArgs } from 'node:util'
import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { requireUsageStore } from '../../../shared/clickhouse/require-usage-store.ts'
import type { Logger } from '../../../shared/logging/logger.ts'
import { printable, printableJson } from '../../../shared/text/printable.ts'
import type { Command, CommandContext, CommandDeps } from '../command.ts'
import { checkAnalysts } from '../doctor/check-analysts.ts'
import { checkClickHouse, CLICKHOUSE } from '../doctor/check-clickhouse.ts'
import { checkCounts } from '../doctor/check-counts.ts'
import {
  checkAcceptance,
  checkDeadLetters,
  checkGateways,
  checkLag,
  EVENT_LOG,
} from '../doctor/check-event-log.ts'
import { checkKafka, KAFKA } from '../doctor/check-kafka.ts'
import { checkKeys } from '../doctor/check-keys.ts'
import { checkPostgres, POSTGRES } from '../doctor/check-postgres.ts'
import { checkRedis, REDIS } from '../doctor/check-redis.ts'
import { checkDisk, checkExposure, checkPasswords } from '../doctor/check-settings.ts'
import { type Check, type Finding, type Level, ok, runChecks } from '../doctor/finding.ts'

const USAGE_STORE = `${CLICKHOUSE} of this Tally`
const LEVEL_WIDTH = 'warning'.length

/** npm run doctor: checks that every engine is available and set up safely. */
export const doctor: Command = {
  name: 'doctor',
  about: 'checks that every engine is available and set up so that nothing is lost',
  notes: [
    'It prints a line for each part: ok, warning or failed, and the advice. It checks versions, migrations, durability, clocks,',
    'how far loaders and rollups are behind, dead letters, disks, and keys that end soon. It changes nothing. It exits with 1',
    'when a check failed. Warnings can wait.',
    '',
    '  --strict          exits with 1 for warnings too',
    '  --json            prints one JSON document: {"findings": [{"part", "level", "says"}]}',
    '  --analysts URL    checks only what an analyst can do at http://HOST:PORT. User and password are CLICKHOUSE_USER and',
    '                    CLICKHOUSE_PASSWORD, because npm prints a URL that has them. It tries to read files, tables and',
    "                    settings that are not the analyst's, and prints what was let through. Everything that Tally's own",
    '                    endpoint lets through is a failure. A ClickHouse server lets all users ask for some things, such',
    '                    as its version: those are warnings. No Tally needs to run.',
    '',
  ],
  usage: ['doctor', 'doctor -- [--strict] [--json] [--analysts URL]'],
  async run(args, deps, { print, log }) {
    const options = parse(args)
    return report(await runChecks(await checksOf(deps, log)), options, print)
  },
  runsAlone: (args) => args.some((arg) => /^--analysts(?:=|$)/.test(arg)),
  async runAlone(args, env, { print }) {
    const options = parse(args)
    return report(await checkAnalysts(options.analysts ?? '', env), options, print)
  },
}

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    options: {
      strict: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      analysts: { type: 'string' },
    },
  }).values

/** @returns the exit code */
function report(
  findings: readonly Finding[],
  { json, strict }: ReturnType<typeof parse>,
  print: CommandContext['print'],
): number {
  if (json) print(printableJson({ findings }))
  else for (const line of describe(findings)) print(line)
  const has = (level: Level) => findings.some((finding) => finding.level === level)
  return has('failed') || (strict && has('warning')) ? 1 : 0
}

async function checksOf(deps: CommandDeps, log: Logger): Promise<Check[]> {
  const { pool, openClickHouse, openEventLog, installation } = deps
  const { eventLog, redis, dataFolder, urls, hosts } = installation
  const { url: redisUrl } = redis
  const { kafka, partitions } = eventLog
  const check = (part: string, look: Check['look']): Check => ({ part, look })
  // Without PostgreSQL, each check that needs it would only report the same failure again.
  const hasPostgres = await pool.query('SELECT 1').then(
    () => true,
    () => false,
  )
  const usageStore = (clickhouse: ClickHouse) =>
    check(USAGE_STORE, async () => {
      await requireUsageStore(clickhouse, pool, { enters: false })
      return [ok(USAGE_STORE, 'the one that the usage of this PostgreSQL is in')]
    })
  return [
    check(POSTGRES, () => checkPostgres(pool, urls['DATABASE_URL'] === undefined)),
    check(CLICKHOUSE, async () => {
      const clickhouse = await openClickHouse()
      const findings = await checkClickHouse(clickhouse)
      return hasPostgres ? [...findings, ...(await runChecks([usageStore(clickhouse)]))] : findings
    }),
    ...(kafka === undefined ? [] : [check(KAFKA, () => checkKafka(kafka, partitions, log))]),
    ...(redisUrl === undefined ? [] : [check(REDIS, () => checkRedis({ ...redis, url: redisUrl }, log))]),
    ...(hasPostgres
      ? [
          check(EVENT_LOG, async () => checkLag(await openEventLog())),
          check('dead letters', () => checkDeadLetters(pool)),
          check('gateways', () => checkGateways(pool)),
          check('times of acceptance', () => checkAcceptance(pool)),
          check('API keys', () => checkKeys(pool)),
          check('usage counted', () => checkCounts(pool)),
        ]
      : []),
    ...(dataFolder === undefined
      ? []
      : [check('disk of DATA_DIR', () => checkDisk(dataFolder, urls['DATABASE_URL'] === undefined))]),
    check('passwords', () => Promise.resolve(checkPasswords(urls))),
    ...(hosts === undefined ? [] : [check('ports', () => Promise.resolve(checkExposure(hosts)))]),
  ]
}

function describe(findings: readonly Finding[]): string[] {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length
  const [failed, warnings] = [count('failed'), count('warning')]
  return [
    ...findings.map(({ level, part, says }) => `${level.padEnd(LEVEL_WIDTH)}  ${part}: ${printable(says)}`),
    failed + warnings === 0
      ? 'everything is as it should be'
      : `${failed} failed, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`,
  ]
}
