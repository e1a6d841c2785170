import { parseArgs } from 'node:util'
import { parseUsageLine } from '../../../shared/domain/usage-event-line.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import type { EventLog } from '../../../shared/event-log/event-log.ts'
import { partitionOfAccount } from '../../../shared/event-log/partition.ts'
import { deadLetterRepository, type DeadLetter } from '../../../shared/postgres/dead-letters.ts'
import type { Pool } from '../../../shared/postgres/pool.ts'
import { microsecondClock } from '../../../shared/time/microsecond-clock.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import type { Command } from '../command.ts'
import { unknownAction } from '../unknown-action.ts'

const PAGE = 1_000
const REASON_CHARACTERS = 100

/** npm run dead-letters: usage that could not be counted, kept with the reason and the bytes. */
export const deadLetters: Command = {
  name: 'dead-letters',
  about: 'lists, shows and retries usage that could not be counted',
  notes: [
    'A dead letter is usage that is in the event log but cannot be counted. It is kept with the reason and its bytes.',
    '',
    '  list          the place in the log (partition/offset/line), since when, when it was retried last, and the reason',
    '  show ID       the whole reason and the bytes',
    '  retry ID      puts it back into the log as it is; what cannot be read again becomes a new dead letter',
    '  retry --all   all that were not retried yet',
    '',
  ],
  usage: ['dead-letters -- list', 'dead-letters -- show ID', 'dead-letters -- retry ID | --all'],
  async run(args, { pool, log }, { print }) {
    const [action = '', ...rest] = args
    switch (action) {
      case 'list':
        return list(pool, print)
      case 'show':
        return show(await findOne(rest, pool), print)
      case 'retry':
        return retry(rest, pool, log, print)
      default:
        throw unknownAction('dead-letters', ['list', 'show', 'retry'], action)
    }
  },
}

async function list(pool: Pool, print: (line: string) => void): Promise<number> {
  const letters = await listAll(pool)
  const rows = letters.map(({ id, partition, offset, line, createdAt, retriedAt, reason }) => [
    String(id),
    `${partition}/${offset}/${line}`,
    createdAt.toISOString(),
    retriedAt?.toISOString() ?? '',
    reason.slice(0, REASON_CHARACTERS),
  ])
  for (const line of formatTable(['id', 'partition/offset/line', 'since', 'retried', 'reason'], rows))
    print(line)
  return 0
}

async function listAll(pool: Pool): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = []
  for (;;) {
    const page = await deadLetterRepository(pool).list(letters.at(-1)?.id ?? 0, PAGE)
    letters.push(...page)
    if (page.length < PAGE) return letters
  }
}

async function findOne(args: readonly string[], pool: Pool): Promise<DeadLetter> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
  const [id = ''] = positionals
  if (!/^\d{1,15}$/.test(id) || positionals.length > 1) throw new UsageError('give one id, as list shows it')
  const letter = await deadLetterRepository(pool).find(Number(id))
  if (letter === undefined) throw new DomainError('not_found', `there is no dead letter ${id}`)
  return letter
}

function show(letter: DeadLetter, print: (line: string) => void): number {
  const { id, topic, partition, offset, line, reason, value, createdAt, retriedAt } = letter
  print(`dead letter ${id}`)
  print(`from     ${topic}, partition ${partition}, offset ${offset}, line ${line}`)
  print(`since    ${createdAt.toISOString()}`)
  print(`retried  ${retriedAt?.toISOString() ?? 'never'}`)
  print(`reason   ${reason}`)
  const text = value.toString()
  const isText = Buffer.from(text).equals(value)
  print(isText ? `text     ${text}` : `base64   ${value.toString('base64')}`)
  return 0
}

/** Puts the bytes back into the log as they are. Doing so again is harmless: the identity of the event absorbs it. */
async function retry(
  args: readonly string[],
  pool: Pool,
  log: EventLog,
  print: (line: string) => void,
): Promise<number> {
  const letters = args[0] === '--all' ? (await listAll(pool)).filter(isWaiting) : [await findOne(args, pool)]
  const clock = microsecondClock()
  for (const { id, partition, value } of letters) {
    const parsed = parseUsageLine(value.toString())
    const target = 'event' in parsed ? partitionOfAccount(parsed.event.accountId, log.partitions) : partition
    await log.append([{ partition: target, acceptedAt: clock(), value }])
    await deadLetterRepository(pool).markRetried(id)
    print(`put dead letter ${id} back into the log`)
  }
  print(`${letters.length} retried; what cannot be read again becomes a new dead letter`)
  return 0
}

const isWaiting = ({ retriedAt }: DeadLetter): boolean => retriedAt === null
