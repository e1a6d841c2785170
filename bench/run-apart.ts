import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

/**
 * Runs a bench in a process of its own. The embedded engine allows one folder per process, and the runtime's
 * optimizations for one bench must not affect the next.
 *
 * @param words its name and options
 * @param file the file that it writes its result to
 * @returns what it wrote
 * @throws Error when it fails
 */
export async function runApart(words: readonly string[], file: string): Promise<unknown> {
  const all = [...words, '--save', file]
  const child = fork(path.join(import.meta.dirname, 'main.js'), all)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`npm run bench -- ${all.join(' ')} failed`)
  return JSON.parse(await readFile(file, 'utf8'))
}

/**
 * The name of a file beside another one.
 * @param ending takes the place of `.json`
 */
export const fileBeside = (save: string, ending: string): string => save.replace(/(\.json)?$/, ending)
