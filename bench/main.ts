import { parseArgs } from 'node:util'
import { exitWith } from '../shared/lifecycle/exit-with.ts'
import { benchIngest } from './ingest.ts'

const USAGE = `usage: npm run bench -- ingest [--seconds N] [--save FILE]

  ingest   reports usage to a Tally of its own: single events, batches of 100 and of 1,000, each beside a bare
           Express handler that only parses the same bodies`

/** `npm run bench -- NAME`: measures, prints a table, and writes JSON when told where. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: 'string', default: '8' }, save: { type: 'string' } },
  })
  const seconds = Number(values.seconds)
  if (positionals[0] !== 'ingest' || !Number.isInteger(seconds) || seconds < 1 || seconds > 600) {
    process.stderr.write(`${USAGE}\n`)
    process.exitCode = 2
    return
  }
  await benchIngest({ seconds, save: values.save, print: (line) => process.stdout.write(`${line}\n`) })
}

exitWith(main)
