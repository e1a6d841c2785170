import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Load, LoadReply, LoadResult } from './send-load.ts'

/** A load generator in a separate process, so that its CPU time can be measured. */
export interface LoadGenerator {
  pid: number
  /** @throws Error when an answer is not a 202: see sendLoad */
  load(load: Load): Promise<LoadResult>
  close(): Promise<void>
}

export function startLoadGenerator(): LoadGenerator {
  const child = fork(path.join(import.meta.dirname, 'send-load.main.js'), { serialization: 'advanced' })
  const exited = once(child, 'exit')
  return {
    pid: child.pid ?? 0,
    async load(load) {
      child.send(load)
      const answered = once(child, 'message') as Promise<[LoadReply]>
      const reply = await Promise.race([answered, exited.then(() => undefined)])
      if (reply === undefined) throw new Error('the load generator ended by itself')
      const [{ result, failure = 'nothing came back' }] = reply
      if (result === undefined) throw new Error(`${load.url}: ${failure}`)
      return result
    },
    async close() {
      child.kill()
      await exited
    },
  }
}
