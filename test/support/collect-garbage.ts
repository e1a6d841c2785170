import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The memory of the process after garbage collection. */
export function memoryInUse(): NodeJS.MemoryUsage {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage()
}
