import type { ChildProcess } from 'node:child_process'

const children = new Set<ChildProcess>()
let listens = false

/** Ends a child process when this process ends, for any reason. */
export function endWithUs(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
  if (listens) return
  listens = true
  process.once('exit', () => {
    for (const one of children) one.kill('SIGKILL')
  })
}
