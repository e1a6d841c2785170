import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import type { HostOptions } from './host-analysts.ts'
import { makeTempFolder } from './temp-folder.ts'

/** `host-analysts` in a process of its own, on a data folder of its own. */
export interface AnalystHost {
  port: number
  url: string
  process: ChildProcess
  /** Ends it in an orderly way, and forgets its data. @returns how long that took, and the exit code */
  stop(): Promise<{ ms: number; code: number | null }>
}

const HOST = path.join(PROJECT_ROOT, 'dist/test/support/host-analysts.js')

export async function startAnalystHost(options: Omit<HostOptions, 'folder'> = {}): Promise<AnalystHost> {
  const folder = path.join(await makeTempFolder('analysts'), 'clickhouse')
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', HOST, JSON.stringify({ folder, ...options })],
    {
      env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  process.once('exit', () => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [output] = (await Promise.race([once(child.stdout, 'data'), exited])) as [Buffer | number]
  const port = Number(String(output))
  if (!Buffer.isBuffer(output) || !Number.isInteger(port))
    throw new Error('the host of analysts did not start')
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    process: child,
    async stop() {
      const startedAt = performance.now()
      child.kill('SIGTERM')
      const [code] = (await exited) as [number | null]
      const ms = performance.now() - startedAt
      await rm(path.dirname(folder), { recursive: true, force: true })
      return { ms, code }
    },
  }
}
