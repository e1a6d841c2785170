import { readFile } from 'node:fs/promises'
import { pidsBelow } from './cpu-time.ts'

/** Resident memory, in gigabytes of 10^9 bytes. */
export interface Memory {
  /** The memory of the process itself. */
  self: number
  /** The memory of its child processes and their children; shared memory counts once. */
  children: number
}

/** Reads the memory of a process and of its descendants. Linux only; zeros elsewhere. */
export async function memoryOf(pid: number): Promise<Memory> {
  const below = await pidsBelow(pid)
  const sizes = await Promise.all(below.map(readShare))
  return { self: await readShare(pid), children: sizes.reduce((sum, size) => sum + size, 0) }
}

/** Reads the memory every half second until it is stopped. */
export function watchMemory(pid: number): { stop(): Memory } {
  const most: Memory = { self: 0, children: 0 }
  const timer = setInterval(() => {
    void memoryOf(pid).then(({ self, children }) => {
      most.self = Math.max(most.self, self)
      most.children = Math.max(most.children, children)
    })
  }, EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      return most
    },
  }
}

const EVERY_MS = 500

/**
 * Reads the proportional set size. It divides shared pages by the number of processes, so PostgreSQL's shared memory
 * counts once.
 */
async function readShare(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  return (Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1_024) / 1e9
}
