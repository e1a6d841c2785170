import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { until } from './until.ts'

/**
 * Sends SIGSTOP, and waits until the process has stopped, because on a busy machine it may still answer requests before
 * that. SIGCONT resumes the process.
 */
export async function standStill(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP')
  const stat = `/proc/${child.pid ?? 0}/stat`
  if (!existsSync(stat)) return // only Linux shows the state
  await until(async () => /\) T /.test(await readFile(stat, 'utf8')))
}
