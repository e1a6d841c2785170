import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { skipFor } from '../run/pending.ts'
import { makeTempFolder } from '../support/temp-folder.ts'

/** A fake clock for processes that are started with its settings. */
export interface FakeTime {
  /** The settings for Tally's process only. */
  env: Record<string, string>
  /** The settings for Tally's process and its PostgreSQL. */
  withPostgres: Record<string, string>
  /** Sets the seconds by which the clock is ahead of the real time. */
  set(aheadS: number): void
  remove(): void
}

/**
 * Makes a clock with libfaketime. It does not change monotonic clocks, which nobody sets.
 *
 * @param suite is pending where that library is missing; with REQUIRE_FAKETIME=1 it fails
 */
export async function makeFakeTime(suite: Mocha.Context): Promise<FakeTime> {
  const library = findLibrary()
  if (library === undefined) {
    const reason = 'libfaketime is not there: Debian has it as "faketime"'
    if (process.env['REQUIRE_FAKETIME'] === '1') throw new Error(`REQUIRE_FAKETIME=1, and ${reason}`)
    return skipFor(suite, reason)
  }
  const folder = await makeTempFolder('fake-time')
  const file = path.join(folder, 'time')
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const set = (aheadS: number) => {
    writeFileSync(`${file}.new`, `${aheadS < 0 ? '' : '+'}${aheadS}\n`)
    renameSync(`${file}.new`, file) // so that no process reads a part of the file
  }
  set(0)
  return {
    env,
    withPostgres: { ...env, NODE_OPTIONS: `--require=${preloadOf(folder, env)}` },
    set,
    remove() {
      rmSync(folder, { recursive: true })
    },
  }
}

/** Finds the library, which Debian installs in a folder for each architecture. */
const findLibrary = (): string | undefined =>
  existsSync('/usr/lib')
    ? readdirSync('/usr/lib')
        .map((machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`)
        .find((file) => existsSync(file))
    : undefined

/** Makes a module that adds the library's settings when Tally starts PostgreSQL, which gets a separate environment. */
function preloadOf(folder: string, env: Record<string, string>): string {
  const file = path.join(folder, 'preload.cjs')
  writeFileSync(
    file,
    `const processes = require('node:child_process')
const { spawn } = processes
const fake = ${JSON.stringify(env)}
processes.spawn = (program, args, options) =>
  spawn(program, args, /postgres$/.test(program) ? { ...options, env: { ...options.env, ...fake } } : options)
require('node:module').syncBuiltinESMExports()
`,
  )
  return file
}
