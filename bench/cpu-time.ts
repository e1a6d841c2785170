import { readdir, readFile } from 'node:fs/promises'

const TICKS_PER_SECOND = 100 // the unit that Linux shows to programs, with any frequency of its own clock

/** CPU time used so far, in seconds. */
export interface CpuTime {
  /** The time of the process itself, with all its threads. */
  self: number
  /** The time of its child processes and their children. */
  children: number
}

/** Reads the CPU time of a process and of its children. Linux only; zeros elsewhere. */
export async function cpuSecondsOf(pid: number): Promise<CpuTime> {
  if (process.platform !== 'linux') return { self: 0, children: 0 }
  const [self, children] = await Promise.all([readStat(pid), readBelow(pid)])
  return {
    self: self?.seconds ?? 0,
    children: children.reduce((sum, { seconds, reaped }) => sum + seconds + reaped, 0),
  }
}

/** The child processes of a process, and their children. Linux only; none elsewhere. */
export async function pidsBelow(pid: number): Promise<number[]> {
  return process.platform === 'linux' ? (await readBelow(pid)).map((stat) => stat.pid) : []
}

async function readBelow(pid: number): Promise<Stat[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const all = new Map(
    (await Promise.all(pids.map(readStat))).filter((stat) => stat !== undefined).map((s) => [s.pid, s]),
  )
  const isBelow = (candidate: number): boolean => {
    const parent = all.get(candidate)?.parent
    return parent !== undefined && parent > 1 && (parent === pid || isBelow(parent))
  }
  return [...all.values()].filter((stat) => isBelow(stat.pid))
}

interface Stat {
  pid: number
  parent: number
  seconds: number
  /** The time of its children that have ended. */
  reaped: number
}

async function readStat(pid: number): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  // The fields after the name, which may have spaces: state 3, parent 4, … user 14, system 15, children's user 16 and
  // system 17.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const at = (field: number) => fields[field - 3] ?? 0
  return {
    pid,
    parent: at(4),
    seconds: (at(14) + at(15)) / TICKS_PER_SECOND,
    reaped: (at(16) + at(17)) / TICKS_PER_SECOND,
  }
}
