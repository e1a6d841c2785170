import { execFile, spawnSync } from 'node:child_process'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { skipFor } from '../run/pending.ts'
import { makeTempFolder } from './temp-folder.ts'

const execute = promisify(execFile)

/** A program and the option that prints its version. */
type ProgramCheck = readonly [program: string, word: string]

/**
 * Skips the test if one of the programs is missing.
 *
 * @param setting if this environment variable is 1, the test fails instead
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

/** Copies a folder of programs in test/, so that they can be built. @returns the copy */
export async function copyPrograms(folder: string): Promise<string> {
  const copy = await makeTempFolder('programs')
  await cp(path.join(PROJECT_ROOT, 'test', folder), copy, { recursive: true })
  return copy
}

/**
 * Builds the Go program of a folder. Without optimization, because a machine that has built nothing yet takes two thirds
 * of the processor time for it. All programs are built alike, so that they share what was built.
 */
export async function buildGo(folder: string, program: string): Promise<void> {
  const words = ['build', '-gcflags=all=-N -l', '-ldflags=-s -w', '-mod=readonly', '-o', program, '.']
  await runIn(folder, 'go', words)
}

/**
 * Makes a Python environment, `venv`, in a folder.
 *
 * @param packages as arguments of pip; without them, the packages of the folder's requirements.txt
 */
export async function installPython(
  folder: string,
  packages: readonly string[] = ['-r', 'requirements.txt'],
): Promise<void> {
  await runIn(folder, 'python3', ['-m', 'venv', 'venv'])
  const words = ['install', '-q', '--disable-pip-version-check', '--no-compile', ...packages]
  await runIn(folder, 'venv/bin/pip', words)
}

/**
 * Runs a program in a folder.
 *
 * @param env more of its environment
 * @returns its output
 * @throws Error with the output when the program fails
 */
export async function runIn(
  folder: string,
  program: string,
  words: string[],
  env: Record<string, string> = {},
): Promise<string> {
  try {
    const options = { cwd: folder, maxBuffer: 16 << 20, env: { ...process.env, ...env } }
    return (await execute(program, words, options)).stdout
  } catch (err) {
    const { stdout = '', stderr = '' } = err as { stdout?: string; stderr?: string }
    throw new Error(`${program} failed: ${(stdout + stderr).slice(-4_000)}`, { cause: err })
  }
}
