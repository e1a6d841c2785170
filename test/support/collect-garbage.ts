import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What the process holds once everything it let go is collected. */
export function memoryInUse(): NodeJS.MemoryUsage {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage()
}
