import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

/**
 * Runs a bench in a process of its own, because the embedded engine bears one folder, and a profile of one is no part
 * of the next.
 *
 * @param words its name and options
 * @param file where it writes its result
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

/** A file that is named after another one. @param ending what its name has instead of `.json` */
export const fileBeside = (save: string, ending: string): string => save.replace(/(\.json)?$/, ending)
