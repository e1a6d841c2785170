import { parseArgs } from 'node:util'
import { isUsageError, UsageError } from '../shared/errors/usage-error.ts'
import { exitWith } from '../shared/lifecycle/exit-with.ts'
import { benchIngest } from './ingest.ts'

const USAGE = `usage: npm run bench -- ingest [--seconds N] [--save FILE]

  ingest   reports usage to a Tally of its own: single events, batches of 100 and of 1,000, each beside a bare
           Express handler that only parses the same bodies. Each is measured twice, for --seconds (8 unless given)
           after a warm-up: some two minutes in all. --save writes the results as JSON`

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
  await benchIngest({ seconds, save: values.save, print: (line) => process.stdout.write(`${line}\n`) })
}

function parseWords() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        seconds: { type: 'string', default: '8' },
        save: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (err) {
    throw isUsageError(err) ? new UsageError(`${err.message}\n${USAGE}`) : err
  }
}

exitWith(main)
