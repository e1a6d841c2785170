#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'

/** Scripts of package.json that are commands of an installation: they need its folder or its databases. */
const SCRIPTS: readonly string[] = [
  'start',
  'migrate',
  'config',
  'doctor',
  'audit',
  'rebuild',
  'backup',
  'restore',
  'recover',
  'companies',
  'keys',
  'analysts',
  'trail',
  'dead-letters',
]
/** All others are commands of the package @tally-metering/cli, which call Tally over HTTP. */
const CLI = path.join(PROJECT_ROOT, 'dist/clients/cli/src/tally.main.js')

/**
 * The command line of an installation: `tally doctor` does what `npm run doctor` does, and `tally accounts list` what it
 * does anywhere. It reads nothing but the first word, and hands on the others as they are.
 */
function runCommand(words: readonly string[]): void {
  const [first = '--help', ...others] = words
  const child = SCRIPTS.includes(first)
    ? // The shell sets the variables of the script, and its place is taken by the program, which so gets the signals.
      spawn('sh', ['-c', `${scriptOf(first)} "$@"`, first, ...others], settings())
    : spawn(process.execPath, [CLI, first, ...others], settings())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.on('close', (code, signal) => {
    if (code === 0 && others.length === 0 && ['--help', '-h', 'help'].includes(first))
      process.stdout.write(`\nIn this installation also: ${SCRIPTS.join(', ')}.\n`)
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** As npm runs it: in the project's folder, and INIT_CWD says where the user is. */
const settings = () =>
  ({
    cwd: PROJECT_ROOT,
    env: { ...process.env, INIT_CWD: process.env['INIT_CWD'] ?? process.cwd() },
    stdio: 'inherit',
  }) as const

function scriptOf(name: string): string {
  const { scripts } = JSON.parse(readFileSync(path.join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const [, variables, program] = /^((?:\w+=\S+ )*)(?:exec )?(node .*)$/.exec(scripts[name] ?? '') ?? []
  if (program === undefined) throw new Error(`package.json has no script ${name} that runs node`)
  return `${variables ?? ''}exec ${program}`
}

runCommand(process.argv.slice(2))
