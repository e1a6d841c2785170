import { execFile, spawnSync } from 'node:child_process'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { skipFor } from '../run/pending.ts'
import { makeTempFolder } from './temp-folder.ts'

const execute = promisify(execFile)

/** A program and a word that makes it say its version. */
type ProgramCheck = readonly [program: string, word: string]

/**
 * Skips the test where one of the programs is not there.
 *
 * @param setting with 1 in this environment variable, the test fails instead
 */
export function requirePrograms(
  suite: Mocha.Context,
  setting: string,
  programs: readonly ProgramCheck[],
): void {
  const missing = programs.filter(([program, word]) => spawnSync(program, [word]).status !== 0)
  if (missing.length === 0) return
  const reason = `not on the PATH: ${missing.map(([program]) => program).join(', ')}`
  if (process.env[setting] === '1') throw new Error(`${setting}=1, and ${reason}`)
  skipFor(suite, reason)
}

/** Copies a folder of programs below test/, so that they can be built. @returns the copy */
export async function copyPrograms(folder: string): Promise<string> {
  const copy = await makeTempFolder('programs')
  await cp(path.join(PROJECT_ROOT, 'test', folder), copy, { recursive: true })
  return copy
}

/** @returns what the program printed @throws Error with all it printed when it fails */
export async function runIn(folder: string, program: string, words: string[]): Promise<string> {
  try {
    return (await execute(program, words, { cwd: folder, maxBuffer: 16 << 20 })).stdout
  } catch (err) {
    const { stdout = '', stderr = '' } = err as { stdout?: string; stderr?: string }
    throw new Error(`${program} failed: ${(stdout + stderr).slice(-4_000)}`, { cause: err })
  }
}
