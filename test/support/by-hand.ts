import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { openPool, type Pool } from '../../shared/postgres/core/pool.ts'
import { testLog } from './log.ts'

const run = promisify(execFile)

/** The output and the exit code of a command. */
export interface CommandResult {
  code: number
  output: string
}

/** Runs a maintenance command as `npm run COMMAND` does. */
export const runCommand = (dataFolder: string, ...words: string[]): Promise<CommandResult> =>
  runProgram('operator/main', { DATA_DIR: dataFolder }, ...words)

/** Runs a program of services/, for example `operator/main`, with these settings. */
export function runProgram(
  name: string,
  env: Record<string, string>,
  ...words: string[]
): Promise<CommandResult> {
  return runMain(path.join(PROJECT_ROOT, `dist/services/${name}.js`), env, ...words)
}

/** Runs a program of whichever version, by its file. */
export async function runMain(
  main: string,
  env: Record<string, string>,
  ...words: string[]
): Promise<CommandResult> {
  try {
    const { stdout, stderr } = await run(process.execPath, [main, ...words], {
      env: { ...process.env, ...env },
    })
    return { code: 0, output: stdout + stderr }
  } catch (err) {
    if (!(err instanceof Error && 'stdout' in err && 'stderr' in err && 'code' in err)) throw err
    return { code: Number(err.code), output: String(err.stdout) + String(err.stderr) }
  }
}

/** Changes the ClickHouse of a Tally that is stopped. */
export async function changeClickHouse(dataFolder: string, ...statements: string[]): Promise<void> {
  const script = path.join(import.meta.dirname, 'run-clickhouse.js')
  await run(process.execPath, [script, path.join(dataFolder, 'clickhouse'), ...statements])
}

/** The URL of the PostgreSQL of a running Tally, for its superuser. */
export const superuserUrl = (dataFolder: string): Promise<string> =>
  postgresUrl(dataFolder, 'postgres', 'superuser')

/** The URL of the PostgreSQL of a running Tally, for the role of the services. */
export const serviceUrl = (dataFolder: string): Promise<string> =>
  postgresUrl(dataFolder, 'tally_service', 'service')

/** Connects to the PostgreSQL of a running Tally, with the role of the services. */
export const connectToPostgres = async (dataFolder: string): Promise<Pool> =>
  openPoolByHand(await serviceUrl(dataFolder))

export function openPoolByHand(url: string): Pool {
  return openPool({
    url,
    name: 'by hand',
    connectionsMax: 2,
    statementTimeoutMs: 10_000,
    log: testLog,
  })
}

async function postgresUrl(dataFolder: string, role: string, secret: string): Promise<string> {
  const [pidFile, secrets] = await Promise.all([
    readFile(path.join(dataFolder, 'postgres/postmaster.pid'), 'utf8'),
    readFile(path.join(dataFolder, 'postgres-passwords.json'), 'utf8'),
  ])
  const port = pidFile.split('\n')[3] ?? ''
  const passwords = JSON.parse(secrets) as Record<string, string>
  return `postgres://${role}:${passwords[secret] ?? ''}@127.0.0.1:${port}/tally`
}

/** The namespace of a company, `default` or `sandbox`. */
export async function namespaceOf(pool: Pool, company: string): Promise<string> {
  const { rows } = await pool.query<{ namespace_id: string }>(
    'SELECT namespace_id FROM namespaces JOIN companies USING (company_id) WHERE name = $1 AND retired_at IS NULL',
    [company],
  )
  return rows[0]?.namespace_id ?? ''
}
