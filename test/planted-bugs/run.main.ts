import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import ts from 'typescript'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { UsageError } from '../../shared/errors/usage-error.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.ts'

const SUITES_MS = 8 * 60_000
/** Bugs that are tried out at a time; a run of suites keeps about one core busy. */
const LANES = '2'
/** What the tests need beside the packages. */
const COPIED = [
  'CHANGELOG.md',
  'dist',
  'shared',
  'clients',
  'console',
  'services',
  'clickhouse',
  'contract',
  'deploy',
  'docs/guides/durable-reporter.md',
  'docs/guides/python.md',
  'docs/reference/keys.md',
  'openapi.yaml',
  'package.json',
  'tsconfig.json',
  'test/shared/domain/billing/billing-vectors.json',
  'test/upgrade',
]

const PASSED = ' tests passed'

/** How a bug fared: which test found it, or that none did. */
type Outcome = { found: string; why: string } | { missed: string }

/**
 * `npm run test:planted-bugs [-- --only TEXT] [--lanes N]`: plants each bug in a copy of the built project, and runs
 * the suites that must find it. Exit code 1 when one of them goes unnoticed.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { only: { type: 'string', default: '' }, lanes: { type: 'string', default: LANES } },
  })
  const bugs = PLANTED_BUGS.filter(({ name }) => name.includes(values.only))
  if (bugs.length === 0) throw new UsageError(`no planted bug has ${JSON.stringify(values.only)} in its name`)
  const lanes = Number(values.lanes)
  if (!Number.isInteger(lanes) || lanes < 1) throw new UsageError('--lanes must be a whole number from 1')
  const folder = await makeTempFolder('planted-bugs')
  let missed = 0
  try {
    const copies: string[] = []
    for (let lane = 0; lane < Math.min(lanes, bugs.length); lane++)
      copies.push(await copyProject(path.join(folder, `lane-${lane}`)))
    await inLanes(copies, [...new Set(bugs.flatMap(({ suites }) => suites))], requireGreen)
    process.stdout.write('without a bug all of their suites pass\n')
    await inLanes(copies, bugs, async (bug, copy) => {
      const startedAt = performance.now()
      const outcome = await tryOut(bug, copy)
      const seconds = Math.round((performance.now() - startedAt) / 1_000)
      if ('missed' in outcome) missed++
      const line = 'found' in outcome ? `found by «${outcome.found}»` : `NOT FOUND: ${outcome.missed}`
      process.stdout.write(`${bug.name}\n    ${line} (${seconds} s)\n`)
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  process.stdout.write(
    missed === 0 ? 'every planted bug was found\n' : `${missed} planted bugs were not found\n`,
  )
  process.exitCode = missed === 0 ? 0 : 1
}

/** Works on all, one at a time in each copy. */
async function inLanes<T>(
  copies: readonly string[],
  all: readonly T[],
  work: (one: T, copy: string) => Promise<void>,
): Promise<void> {
  const left = [...all]
  await Promise.all(
    copies.map(async (copy) => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one, copy)
    }),
  )
}

async function copyProject(copy: string): Promise<string> {
  for (const name of COPIED)
    await cp(path.join(PROJECT_ROOT, name), path.join(copy, name), { recursive: true })
  await symlink(path.join(PROJECT_ROOT, 'node_modules'), path.join(copy, 'node_modules'))
  return copy
}

/** What fails without a bug would find them all. */
async function requireGreen(suite: string, copy: string): Promise<void> {
  const outcome = await runSuites([suite], copy)
  if ('found' in outcome) throw new Error(`fails without a planted bug: ${outcome.found}: ${outcome.why}`)
  if (!outcome.missed.endsWith(PASSED)) throw new Error(`${suite} without a planted bug: ${outcome.missed}`)
}

async function tryOut(bug: PlantedBug, copy: string): Promise<Outcome> {
  const { file, right, wrong, suites } = bug
  const source = await readFile(path.join(copy, file), 'utf8')
  const heal = await plant(
    file,
    source.replace(right, () => wrong),
    copy,
  )
  try {
    if (bug.each === undefined) return await runSuites(suites, copy)
    const found: string[] = []
    for (const suite of suites) {
      const outcome = await runSuites([suite], copy)
      if ('missed' in outcome) return { missed: `by ${suite}: ${outcome.missed}` }
      found.push(outcome.found)
    }
    return { found: found.join('» and «'), why: '' }
  } finally {
    await heal()
  }
}

/** Changes a file where it runs. @returns a function that changes it back */
async function plant(file: string, planted: string, copy: string): Promise<() => Promise<void>> {
  const isCode = /\.tsx?$/.test(file)
  const built = isCode ? path.join(copy, 'dist', file.replace(/\.tsx?$/, '.js')) : path.join(copy, file)
  // What only the page of the console has is in no file of its own, but in what Vite builds.
  const before = existsSync(built) ? await readFile(built) : undefined
  if (before !== undefined) await writeFile(built, isCode ? await transpile(planted, copy) : planted)
  const source = isCode ? await readFile(path.join(copy, file)) : undefined
  const isOfConsole = file.startsWith('console/')
  if (source !== undefined) await writeFile(path.join(copy, file), planted) // some tests read the code
  if (isOfConsole) await buildConsole(copy, file)
  return async () => {
    if (before !== undefined) await writeFile(built, before)
    if (source !== undefined) await writeFile(path.join(copy, file), source)
    if (isOfConsole) await buildConsole(copy, file)
  }
}

async function buildConsole(copy: string, file: string): Promise<void> {
  const vite = path.join(PROJECT_ROOT, 'node_modules/vite/bin/vite.js')
  const options = { cwd: copy, stdio: 'inherit' } as const
  const child = spawn(process.execPath, [vite, 'build', 'console', '--logLevel', 'error'], options)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the console cannot be built with ${file} changed`)
}

async function transpile(source: string, copy: string): Promise<string> {
  const { config } = ts.parseConfigFileTextToJson(
    'tsconfig.json',
    await readFile(path.join(copy, 'tsconfig.json'), 'utf8'),
  ) as { config: { compilerOptions: object } }
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, copy)
  // By itself a file does not say what kind of module it is.
  const asModule = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
  return ts.transpileModule(source, { compilerOptions: { ...options, ...asModule } }).outputText
}

/** Until the first test fails. */
async function runSuites(suites: readonly string[], copy: string): Promise<Outcome> {
  const child = spawn(
    process.execPath,
    [
      path.join(PROJECT_ROOT, 'node_modules/mocha/bin/mocha.js'),
      ...['--no-config', '--bail', '--exit', '--timeout', '60000', '--reporter', 'json-stream'],
      ...['--require', 'dist/test/run/root-hooks.js'],
      ...suites.map((suite) => `dist/test/${suite}.test.js`),
    ],
    { cwd: copy, env: { ...process.env, FORCE_COLOR: '0' }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const timer = setTimeout(() => child.kill('SIGKILL'), SUITES_MS)
  await once(child, 'close')
  clearTimeout(timer)
  const [, failure] = /^\["fail",(\{.*\})\]$/m.exec(output) ?? []
  const { fullTitle: title, err: why = '' } =
    failure === undefined ? {} : (JSON.parse(failure) as { fullTitle: string; err: string })
  if (title !== undefined && / hook(?: |$)/.test(title))
    return { missed: `the suites did not get on: ${title}` }
  if (title !== undefined) return { found: title, why }
  const passed = /^\["end",\{.*"passes":(\d+)/m.exec(output)?.[1]
  return {
    missed: passed === undefined ? `the suites did not run: ${output.slice(0, 500)}` : `${passed}${PASSED}`,
  }
}

exitWith(main)
