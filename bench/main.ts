import { parseArgs } from 'node:util'
import { isUsageError, UsageError } from '../shared/errors/usage-error.ts'
import { exitWith } from '../shared/lifecycle/exit-with.ts'
import { benchIngest, LOGS } from './ingest.ts'

const USAGE = `usage: npm run bench -- ingest [--seconds N] [--log embedded|kafka] [--save FILE]

  ingest   reports usage to a Tally of its own: single events, batches of 100 and of 1,000, each beside a bare
           Express handler that only parses the same bodies. Each is measured twice, for --seconds (8 unless given)
           after a warm-up: some two minutes for each event log: the embedded one in PostgreSQL, then Kafka, for which Java 17
           and Maven must be there; --log takes one of them. --save writes the results as JSON`

/** `npm run bench -- NAME`: measures, prints a table, and writes JSON when told where. */
async function main(): Promise<void> {
  const { values, positionals } = parseWords()
  if (values.help) {
    process.stdout.write(`${USAGE}\n`)
    return
  }
  if (positionals.join(' ') !== 'ingest') throw new UsageError(USAGE)
  const seconds = Number(values.seconds)
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 600)
    throw new UsageError(`--seconds must be a whole number from 1 to 600\n${USAGE}`)
  const logs = LOGS.filter((log) => values.log === undefined || values.log === log)
  if (logs.length === 0) throw new UsageError(`--log must be ${LOGS.join(' or ')}\n${USAGE}`)
  await benchIngest({ seconds, logs, save: values.save, print: (line) => process.stdout.write(`${line}\n`) })
}

function parseWords() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        seconds: { type: 'string', default: '8' },
        log: { type: 'string' },
        save: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (err) {
    throw isUsageError(err) ? new UsageError(`${err.message}\n${USAGE}`) : err
  }
}

exitWith(main)
