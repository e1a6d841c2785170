import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * The time at which a process started, in the system's own form. Together with the process id, it identifies a process
 * for ever.
 *
 * @returns undefined when there is no such process, or when it is a zombie
 */
export async function startOf(pid: number): Promise<string | undefined> {
  if (!Number.isInteger(pid) || pid < 1) return undefined
  if (process.platform === 'linux') {
    const [text, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    ])
    // The text is split after the name, which may contain spaces and brackets. Field 3 of the file is the state, and
    // field 22 the start in ticks since boot.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', ticks] = [fields[0], fields[19]]
    return ticks === undefined || 'ZXx'.includes(state) ? undefined : `${boot.trim()} ${ticks}`
  }
  return run('ps', ['-o', 'lstart=', '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim() || undefined,
    () => undefined,
  )
}
