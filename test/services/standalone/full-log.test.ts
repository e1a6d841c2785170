import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { API_ADDRESS_FILE } from '../../../shared/config/common-settings.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { ApiClient } from '../../support/api-client.ts'
import { runProgram } from '../../support/by-hand.ts'
import { endChild } from '../../support/end-child.ts'
import { findFreePort } from '../../support/free-port.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

/** Every write to it fails, as on a disk that is full. */
const FULL = '/dev/full'

/** A command that prints much, and needs no database. */
const CONFIG = path.join(PROJECT_ROOT, 'dist/services/standalone/config.main.js')

describe('a log that cannot be written', function () {
  this.timeout(120_000)
  let folder: string
  let full: FileHandle

  before(async () => {
    folder = path.join(await makeTempFolder('full-log'), 'data')
    full = await open(FULL, 'w')
  })
  after(async () => {
    await full.close()
    await rm(path.dirname(folder), { recursive: true, force: true })
  })

  // Why a separate Tally: its log cannot be written.
  it('ends no Tally: it serves, shows how many lines are missing, and SIGTERM ends it in order', async () => {
    const adminPort = await findFreePort()
    const main = path.join(PROJECT_ROOT, 'dist/services/standalone/main.js')
    const tally = spawn(process.execPath, ['--enable-source-maps', main], {
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '16',
        LOG_LEVEL: 'debug', // so that it has much to say
        DATA_DIR: folder,
        PORT: '0',
        ADMIN_PORT: String(adminPort),
        CLICKHOUSE_HTTP_PORT: '0',
        KAFKA_BROKERS: '',
        REDIS_URL: '',
      },
      stdio: ['ignore', full.fd, full.fd],
    })
    try {
      const noteOf = (name: string) => readFile(path.join(folder, name), 'utf8').then((text) => text.trim())
      const address = await until(() => noteOf(API_ADDRESS_FILE).catch(() => false as const), 60_000)
      const api = new ApiClient(`http://${address}`, await noteOf('api-key'))
      await api.create('/v2/accounts', { name: 'Any' })
      const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
      const [, dropped] = /^tally_log_lines_dropped_total (\d+)$/m.exec(metrics) ?? []
      expect(Number(dropped)).to.be.above(0)
      expect(existsSync(path.join(folder, 'postgres/postmaster.pid'))).to.equal(true)
    } finally {
      expect(await endChild(tally, 'SIGTERM')).to.equal(0)
    }
    expect(existsSync(path.join(folder, 'postgres/postmaster.pid')), 'PostgreSQL runs').to.equal(false)
    expect(existsSync(path.join(folder, 'lock')), 'the lock').to.equal(false)
  })

  it('ends a command that cannot print what it found, in one line and with exit code 1', async () => {
    const command = spawn(process.execPath, [CONFIG], { stdio: ['ignore', full.fd, 'pipe'] })
    let said = ''
    command.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
    expect(await ended(command)).to.equal(1)
    expect(said).to.equal('the output could not be written: ENOSPC: no space left on device, write\n')
    expect((await runProgram('standalone/config.main', {})).code).to.equal(0)
  })

  it('ends a command without a word when its reader has gone', async () => {
    const shell = spawn('sh', ['-c', `${process.execPath} ${CONFIG} | true`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [shell.stdout, shell.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await ended(shell)
    expect(said).to.equal('')
  })
})

const ended = async (child: ChildProcess): Promise<number | null> =>
  ((await once(child, 'close')) as [number | null])[0]
