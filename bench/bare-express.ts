import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/** Starts, in a separate process, the handler with which Tally is compared. */
export async function startBareExpress(): Promise<{ url: string; pid: number; close(): Promise<void> }> {
  const child = fork(path.join(import.meta.dirname, 'bare-express.main.js'))
  const [port] = (await once(child, 'message')) as [number]
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    async close() {
      child.kill()
      await once(child, 'exit')
    },
  }
}
