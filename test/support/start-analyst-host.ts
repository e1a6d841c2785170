import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { endChild } from './end-child.ts'
import { endWithUs } from './end-with-us.ts'
import type { HostOptions } from './host-analysts.ts'
import { makeTempFolder } from './temp-folder.ts'

/** The header of the user of `host-analysts` who may do everything. */
export const TRIAL = { authorization: `Basic ${Buffer.from('trial:a secret of trials').toString('base64')}` }

/** `host-analysts` in a process of its own, on a data folder of its own. */
export interface AnalystHost {
  port: number
  url: string
  /** The engine's data folder. */
  folder: string
  process: ChildProcess
  /** kill -9, and waits for the end. */
  kill9(): Promise<void>
  /** After kill9: on the same data, at another port. */
  restart(): Promise<void>
  /** Ends it in an orderly way, and forgets its data. @returns how long that took, and the exit code */
  stop(): Promise<{ ms: number; code: number | null }>
}

const HOST = path.join(PROJECT_ROOT, 'dist/test/support/host-analysts.js')

export async function startAnalystHost(options: Omit<HostOptions, 'folder'> = {}): Promise<AnalystHost> {
  const folder = path.join(await makeTempFolder('analysts'), 'clickhouse')
  const launch = () => launchHost({ folder, ...options })
  const host: AnalystHost = {
    ...(await launch()),
    folder,
    kill9: async () => {
      await endChild(host.process, 'SIGKILL')
    },
    restart: async () => {
      Object.assign(host, await launch())
    },
    async stop() {
      const startedAt = performance.now()
      const code = await endChild(host.process, 'SIGTERM')
      const ms = performance.now() - startedAt
      await rm(path.dirname(folder), { recursive: true, force: true })
      return { ms, code }
    },
  }
  return host
}

async function launchHost(options: HostOptions): Promise<Pick<AnalystHost, 'port' | 'url' | 'process'>> {
  const child = spawn(process.execPath, ['--enable-source-maps', HOST, JSON.stringify(options)], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithUs(child)
  const [output] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [
    Buffer | number,
  ]
  const port = Number(String(output))
  if (!Buffer.isBuffer(output) || !Number.isInteger(port))
    throw new Error('the host of analysts did not start')
  return { port, url: `http://127.0.0.1:${port}`, process: child }
}
