import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { until } from './until.ts'

/**
 * SIGSTOP, and waits until it holds: on a busy machine, what was being answered is answered before. SIGCONT lets the
 * process go on.
 */
export async function standStill(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP')
  const stat = `/proc/${child.pid ?? 0}/stat`
  if (!existsSync(stat)) return // not on Linux, which alone tells
  await until(async () => /\) T /.test(await readFile(stat, 'utf8')))
}
