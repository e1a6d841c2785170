import { parseArgs } from 'node:util'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { partitionOfAccount } from '../../../shared/event-log/partition.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import {
  type DeadLetter,
  type DeadLetterHead,
  deadLetterRepository,
} from '../../../shared/postgres/dead-letters.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import { printable } from '../../../shared/text/printable.ts'
import { microsecondClock } from '../../../shared/time/microsecond-clock.ts'
import { parseLogLine } from '../../../shared/usage-lines/log-line.ts'
import type { Command, CommandContext, UsageEngines } from '../command.ts'
import { unknownAction } from '../unknown-action.ts'

const PAGE = 1_000
const REASON_CHARACTERS = 100
const HEADINGS = ['id', 'partition/offset/line', 'since', 'retried', 'reason']

/** npm run dead-letters: lists, shows and retries usage that could not be counted. */
export const deadLetters: Command = {
  name: 'dead-letters',
  about: 'lists, shows and retries usage that could not be counted',
  notes: [
    'A dead letter is usage that is in the event log but cannot be counted. It is kept with the reason and its bytes.',
    '',
    '  list          shows the position in the log (partition/offset/line), the time, the time of the last retry, and the reason',
    '  show ID       shows the whole reason and the bytes',
    '  retry ID      puts the line back into the log, unchanged; if it still cannot be counted, it becomes a new dead letter',
    '  retry --all   does this for all dead letters that were not retried yet',
    '',
    'In the list of events, a retried event has its old time of acceptance. Readers of the list have already passed that time:',
    'they must read that part of the list again.',
    '',
  ],
  usage: ['dead-letters -- list', 'dead-letters -- show ID', 'dead-letters -- retry ID | --all'],
  async run(args, { pool, openUsage }, context) {
    const [action = '', ...rest] = args
    switch (action) {
      case 'list':
        return list(pool, context)
      case 'show':
        return show(await findOne(rest, pool), context)
      case 'retry':
        return retry(rest, pool, await openUsage(), context)
      default:
        throw unknownAction('dead-letters', ['list', 'show', 'retry'], action)
    }
  },
}

async function list(pool: Pool, { print, signal }: CommandContext): Promise<number> {
  let listed = 0
  for await (const page of deadLetterRepository(pool).pages(PAGE)) {
    signal.throwIfAborted()
    for (const line of formatTable(HEADINGS, page.map(cellsOf))) print(line)
    listed += page.length
  }
  if (listed === 0) for (const line of formatTable(HEADINGS, [])) print(line)
  return 0
}

const cellsOf = ({ id, partition, offset, line, createdAt, retriedAt, reason }: DeadLetterHead): string[] => [
  String(id),
  `${partition}/${offset}/${line}`,
  createdAt.toISOString(),
  retriedAt?.toISOString() ?? '',
  reason.slice(0, REASON_CHARACTERS),
]

async function findOne(args: readonly string[], pool: Pool): Promise<DeadLetter> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
  const [id = ''] = positionals
  if (!/^\d{1,15}$/.test(id) || positionals.length > 1) throw new UsageError('give one id, as list shows it')
  const letter = await deadLetterRepository(pool).find(Number(id))
  if (letter === undefined) throw new DomainError('not_found', `there is no dead letter ${id}`)
  return letter
}

function show(letter: DeadLetter, { print }: CommandContext): number {
  const { id, topic, partition, offset, line, reason, value, createdAt, retriedAt } = letter
  print(`dead letter ${id}`)
  print(`from     ${topic}, partition ${partition}, offset ${offset}, line ${line}`)
  print(`since    ${createdAt.toISOString()}`)
  print(`retried  ${retriedAt?.toISOString() ?? 'never'}`)
  print(`reason   ${printable(reason)}`)
  const text = value.toString()
  const isText = Buffer.from(text).equals(value)
  print(isText ? `text     ${printable(text)}` : `base64   ${value.toString('base64')}`)
  return 0
}

/** Puts the bytes back into the log, unchanged. Doing this twice is harmless, because the event is counted once. */
async function retry(
  args: readonly string[],
  pool: Pool,
  { log, listedUpTo }: Pick<UsageEngines, 'log' | 'listedUpTo'>,
  { print, signal }: CommandContext,
): Promise<number> {
  const deadLetters = deadLetterRepository(pool)
  const clock = microsecondClock()
  // The clocks may be behind the usage that was accepted last. A record with an earlier time would hold up the list of
  // events.
  const listed = await listedUpTo()
  let retried = 0
  for await (const { id, partition, value } of args[0] === '--all'
    ? waiting(pool)
    : [await findOne(args, pool)]) {
    signal.throwIfAborted()
    const parsed = parseLogLine(value.toString())
    const target = 'event' in parsed ? partitionOfAccount(parsed.event.accountId, log.partitions) : partition
    await log.append([{ partition: target, acceptedAt: Math.max(clock(), listed), value }])
    await deadLetters.markRetried(id)
    retried++
    print(`put dead letter ${id} back into the log`)
  }
  print(`${retried} retried; a line that still cannot be counted becomes a new dead letter`)
  print(
    'in the list of events they keep their time of acceptance: readers of the list may already have passed it',
  )
  return 0
}

/** Yields the dead letters that were not retried yet. */
async function* waiting(pool: Pool): AsyncGenerator<DeadLetter> {
  const deadLetters = deadLetterRepository(pool)
  for await (const page of deadLetters.pages(PAGE))
    for (const { id, retriedAt } of page) {
      const letter = retriedAt === null ? await deadLetters.find(id) : undefined
      if (letter !== undefined) yield letter
    }
}
