import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { RUN_FOLDER } from './ask-run.ts'
import { fileOf } from './file-times.ts'

/** A file in the folder of the run, with a reason and a test file in each line. */
const PENDING_FILE = 'pending.tsv'

const pendingFile = () => path.join(process.env[RUN_FOLDER] ?? '', PENDING_FILE)

/** Skips a suite because something is missing. The run prints the reason at its end. */
export function skipFor(suite: Mocha.Context, reason: string): never {
  const file = fileOf(topOf(suite.test?.parent))
  appendFileSync(pendingFile(), `${reason}\t${file}\n`)
  return suite.skip()
}

const topOf = (suite: Mocha.Suite | undefined): Mocha.Suite | undefined =>
  suite?.parent === undefined || suite.parent.root ? suite : topOf(suite.parent)

/** The reasons for which suites were skipped, each with the files. */
export function listPending(): Map<string, Set<string>> {
  const reasons = new Map<string, Set<string>>()
  if (!existsSync(pendingFile())) return reasons
  for (const line of readFileSync(pendingFile(), 'utf8').trim().split('\n')) {
    const [reason = '', file = ''] = line.split('\t')
    reasons.set(reason, (reasons.get(reason) ?? new Set()).add(file))
  }
  return reasons
}
