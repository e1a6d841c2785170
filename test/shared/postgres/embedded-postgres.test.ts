import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import pg from 'pg'
import { startOf } from '../../../shared/lifecycle/process-start.ts'
import { startEmbeddedPostgres } from '../../../shared/postgres/embedded/embedded-postgres.ts'
import { requireReachable } from '../../../shared/postgres/embedded/os-user.ts'
import { testLog } from '../../support/log.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

const HOLDER = path.join(import.meta.dirname, 'hold-postgres.js')

describe('embedded PostgreSQL', function () {
  this.timeout(60_000)
  let folder: string
  let holders: ChildProcess[] = []

  beforeEach(async () => {
    folder = await makeTempFolder('embedded-postgres')
  })
  afterEach(async () => {
    for (const holder of holders)
      if (holder.exitCode === null && holder.signalCode === null) holder.kill('SIGKILL')
    holders = []
    const server = await start().catch(() => undefined) // ends the server of a killed process
    await server?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const start = () =>
    startEmbeddedPostgres({
      dataFolder: folder,
      log: testLog,
      onUnexpectedExit: (reason) => {
        throw new Error(reason)
      },
    })

  /** Starts PostgreSQL in another process. @returns that process, and the URL */
  const hold = async (): Promise<[ChildProcess, string]> => {
    const holder = spawn(process.execPath, [HOLDER, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    holders.push(holder)
    const [url] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string]
    return [holder, url]
  }

  const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  }

  const serverPid = async (): Promise<number> =>
    Number((await readFile(path.join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])

  it('starts, keeps what was committed, and stops', async () => {
    const first = await start()
    await query(first.superuserUrl, 'CREATE TABLE t AS SELECT 7 AS n')
    const pid = await serverPid()
    await first.close()
    expect(await startOf(pid)).to.equal(undefined)
    const second = await start()
    expect(await query(second.superuserUrl, 'SELECT n FROM t')).to.deep.equal([{ n: 7 }])
    await second.close()
  })

  it('commits to disk, and serves as roles that are no superusers', async () => {
    const server = await start()
    const settings = await query(
      server.superuserUrl,
      "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') ORDER BY name",
    )
    expect(settings.map(({ setting }) => setting)).to.deep.equal(['on', 'on', 'on'])
    const roles = await query(
      server.superuserUrl,
      "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname LIKE 'tally%' ORDER BY rolname",
    )
    expect(roles).to.deep.equal([
      { rolname: 'tally_owner', rolsuper: false, rolbypassrls: false },
      { rolname: 'tally_service', rolsuper: false, rolbypassrls: false },
    ])
    await server.close()
  })

  it('ends the server that a killed process left behind, and loses nothing that it had committed', async () => {
    const [holder, url] = await hold()
    await query(url, 'CREATE TABLE t AS SELECT 7 AS n')
    const orphan = await serverPid()
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    expect(await startOf(orphan)).not.to.equal(undefined) // it continues to run, which is the trap
    const server = await start()
    expect(await startOf(orphan)).to.equal(undefined)
    expect(await query(server.superuserUrl, 'SELECT n FROM t')).to.deep.equal([{ n: 7 }])
    await server.close()
  })

  it('does not end the server of a process that lives', async () => {
    const [holder, url] = await hold()
    await query(url, 'CREATE TABLE t AS SELECT 7 AS n')
    const failure = await start().catch((err: unknown) => String(err))
    expect(failure).to.match(
      new RegExp(`is in use by process ${holder.pid ?? 0}, though its lock is gone: stop it`),
    )
    expect(await query(url, 'SELECT n FROM t')).to.deep.equal([{ n: 7 }])
  })

  it('starts after the server itself was killed', async () => {
    const [holder, url] = await hold()
    await query(url, 'CREATE TABLE t AS SELECT 7 AS n')
    process.kill(await serverPid(), 'SIGKILL')
    await once(holder, 'exit')
    const server = await start()
    expect(await query(server.superuserUrl, 'SELECT n FROM t')).to.deep.equal([{ n: 7 }])
    await server.close()
  })

  it('does not end another program that has been given the number in a stale lock file', async () => {
    await (await start()).close()
    const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    holders.push(bystander)
    const lines = [bystander.pid, path.join(folder, 'postgres'), 0, 5432, '', '127.0.0.1', '  0  0', 'ready']
    await writeFile(path.join(folder, 'postgres/postmaster.pid'), `${lines.join('\n')}\n`)
    await (await start()).close()
    expect(bystander.exitCode).to.equal(null)
    expect(bystander.signalCode).to.equal(null)
  })

  it('keeps its passwords in a file that only we can read', async () => {
    const server = await start()
    await server.close()
    expect((await stat(path.join(folder, 'postgres-passwords.json'))).mode & 0o777).to.equal(0o600)
  })

  it('says in one sentence which folder its user cannot enter', async () => {
    const closed = path.join(folder, 'closed')
    await mkdir(path.join(closed, 'inner'), { recursive: true })
    await chmod(closed, 0o700)
    let refusal: unknown
    await requireReachable(path.join(closed, 'inner/data'), 'the data folder', {
      uid: 12_345,
      gid: 12_345,
    }).catch((err: unknown) => (refusal = err))
    expect(String(refusal)).to.contain(`cannot enter ${closed} on the way to the data folder`)
    await chmod(closed, 0o711)
    await requireReachable(path.join(closed, 'inner/data'), 'the data folder', { uid: 12_345, gid: 12_345 })
  })
})
