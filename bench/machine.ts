import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import os from 'node:os'
import { promisify } from 'node:util'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'

const run = promisify(execFile)

/** The machine, in one line. */
export function describeMachine(): string {
  const gib = (os.totalmem() / 1024 ** 3).toFixed(0)
  return `${os.availableParallelism()} cores, ${gib} GiB, Node ${process.version}`
}

async function commitNow(): Promise<string> {
  const git = async (...words: string[]) => (await run('git', words, { cwd: PROJECT_ROOT })).stdout.trim()
  try {
    const changed = await git('status', '--porcelain', '--', '.', ':!bench/results')
    return `${await git('rev-parse', 'HEAD')}${changed === '' ? '' : ', changed'}`
  } catch {
    return 'unknown'
  }
}

/** Writes a result as JSON, with the machine's size and load, and the commit that was measured. */
export async function saveResult(file: string, result: object): Promise<void> {
  const whole = {
    at: new Date().toISOString(),
    machine: describeMachine(),
    // The load of the last minute, including the bench's own. A much higher load means that other work ran at the same
    // time.
    loadAverage: os.loadavg()[0],
    commit: await commitNow(),
    ...result,
  }
  await writeFile(file, `${JSON.stringify(whole, null, 2)}\n`)
}
