import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

/**
 * Runs a bench in a separate process. The embedded engine allows one folder per process, and the runtime's
 * optimizations for one bench must not affect the next.
 *
 * @param words the name and the options of the bench
 * @param file the file for its result
 * @returns the result
 * @throws Error when the bench fails
 */
export async function runApart(words: readonly string[], file: string): Promise<unknown> {
  const all = [...words, '--save', file]
  const child = fork(path.join(import.meta.dirname, 'main.js'), all)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`npm run bench -- ${all.join(' ')} failed`)
  return JSON.parse(await readFile(file, 'utf8'))
}

/**
 * The name of a file in the same folder as another one.
 * @param ending replaces `.json`
 */
export const fileBeside = (save: string, ending: string): string => save.replace(/(\.json)?$/, ending)
