import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const END_MS = 15_000

/**
 * Sends a signal and waits for the end of the process. After some time it sends SIGKILL.
 *
 * @returns the exit code; null when a signal ended the process
 */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const exited = once(child, 'exit')
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS)
  const [code] = (await exited) as [number | null]
  clearTimeout(timer)
  return code
}
