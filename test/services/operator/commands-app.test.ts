import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request, type RequestListener } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { askRunning } from '../../../services/operator/ask-running.ts'
import { COMMAND_SOCKET } from '../../../services/operator/command-socket.ts'
import { commandsApp } from '../../../services/operator/commands-app.ts'
import { openCommandSocket } from '../../../services/operator/open-command-socket.ts'
import type { Closeable } from '../../../shared/lifecycle/close-all.ts'
import { openPool, type Pool } from '../../../shared/postgres/core/pool.ts'
import { testLog } from '../../support/log.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'
import { makeReport } from '../../support/usage-event.ts'
import { type AuditStage, makeAuditStage } from './audit-stage.ts'

describe('commands in a running Tally', function () {
  this.timeout(60_000)
  let stage: AuditStage
  let owner: Pool
  let server: Closeable
  let folder: string
  let stopping: AbortController
  /** The number of reads of records by the audit. */
  let reads: number

  before(async () => {
    stage = await makeAuditStage('commands')
    owner = openPool({
      url: stage.db.ownerUrl,
      name: 'locker',
      connectionsMax: 1,
      statementTimeoutMs: 30_000,
      log: testLog,
    })
    const acceptedAt = Date.now() * 1_000 - 60e6
    await stage.append(0, [makeReport({ acceptedAt })], acceptedAt)
    await stage.load(0)
    folder = await makeTempFolder('commands')
  })
  after(async () => {
    await owner.end()
    await stage.close()
    await rm(folder, { recursive: true, force: true })
  })

  beforeEach(async () => {
    reads = 0
    stopping = new AbortController()
    const { log } = stage
    const counting: typeof log = {
      ...log,
      read: (...from) => {
        reads++
        return log.read(...from)
      },
    }
    const app = commandsApp({
      deps: {
        ...stage.deps,
        openUsage: async () => ({ ...(await stage.deps.openUsage()), log: counting }),
      },
      log: testLog,
      stopping: stopping.signal,
    })
    server = await openCommandSocket(app, folder)
  })
  afterEach(() => server.close())

  /** Blocks every audit when it reads the end of the log. */
  const holdAudits = async (): Promise<() => Promise<void>> => {
    const db = await owner.connect()
    await db.query('BEGIN; LOCK TABLE event_log_partitions IN ACCESS EXCLUSIVE MODE')
    return async () => {
      await db.query('ROLLBACK')
      db.release()
    }
  }

  const isAuditing = async (): Promise<boolean> => {
    const { rowCount } = await stage.db.pool.query(
      `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database AND d.datname = current_database()
       WHERE locktype = 'advisory'`,
    )
    return rowCount === 1
  }

  const send = (name: string, body = '{"args":[]}'): ClientRequest =>
    request({
      socketPath: path.join(folder, COMMAND_SOCKET),
      path: `/commands/${name}`,
      method: 'POST',
      agent: false,
      headers: { 'Content-Type': 'application/json' },
    }).end(body)

  const ask = async (name: string, ...args: string[]) => {
    const [printed, told]: [string[], string[]] = [[], []]
    const print = (line: string) => printed.push(line)
    const code = await askRunning(folder, name, args, { print, showProgress: (line) => told.push(line) })
    return { code, told, output: printed.join('\n') }
  }

  it('are answered at once, however long they take', async () => {
    const release = await holdAudits()
    const answered = once(send('audit'), 'response').then(([response]) => response as IncomingMessage)
    const first = await Promise.race([answered, sleep(2_000, undefined)])
    await release()
    expect(first?.statusCode).to.equal(200)
    expect(await text(await answered)).to.match(/"everything adds up"\}[^]*\{"exit":0\}\n$/)
  })

  it('tell how far they have come', async () => {
    const release = await holdAudits()
    const answer = ask('audit')
    await sleep(3_500)
    await release()
    const { code, output, told } = await answer
    expect(code, output).to.equal(0)
    expect(output).to.contain('everything adds up')
    expect(told).to.have.length(1)
    expect(told[0]).to.match(/^accepted up to 20\S+Z, 1 lines so far$/)
  })

  it('stop when nobody waits for them any more; until then there is one audit at a time', async () => {
    const release = await holdAudits()
    const sent = send('audit')
    sent.on('error', () => undefined) // the connection is cut below
    await once(sent, 'response')
    await until(isAuditing)
    const second = await ask('audit')
    expect(second.output).to.equal('audit is under way already: one at a time')
    expect(second.code).to.equal(1)
    sent.destroy()
    await sleep(1_000) // until the server notices that no client waits
    await release()
    const third = await until(async () => {
      const before = reads
      const result = await ask('audit')
      return !result.output.includes('under way') && { ...result, reads: reads - before, before }
    })
    expect(third.before, 'reads of the audit that nobody waited for').to.equal(0)
    expect(third.reads).to.be.above(0)
    expect(third.code).to.equal(0)
  })

  it('stop when Tally stops', async () => {
    const release = await holdAudits()
    const answer = ask('audit')
    await until(isAuditing)
    stopping.abort()
    await release()
    expect(await answer).to.deep.include({ code: 1, output: 'audit was stopped before it was done' })
    expect(reads).to.equal(0)
  })

  it('are refused in plain words when they are no commands', async () => {
    for (const [name, body, status, words] of [
      ['keys', '', 400, 'args: must be a list of text'],
      ['keys', '{}', 400, 'args: must be a list of text'],
      ['keys', '{"args":[1]}', 400, 'args: must be a list of text'],
      ['keys', 'null', 400, 'args: must be a list of text'],
      ['keys', '{"args":', 400, /^the body is not JSON: /],
      ['%ff', '{"args":[]}', 400, /^Failed to decode param/],
      ['a/b', '{"args":[]}', 404, 'not found'],
    ] as const) {
      const [response] = (await once(send(name, body), 'response')) as [IncomingMessage]
      expect(response.statusCode, body).to.equal(status)
      expect(response.headers['content-type']).to.equal('text/plain; charset=utf-8')
      expect(await text(response)).to.match(typeof words === 'string' ? new RegExp(`^${words}$`) : words)
    }
    expect((await ask('unheard-of')).code).to.equal(2)
  })

  it('are given up with one line when Tally is gone or goes', async () => {
    const cut: RequestListener = (_req, res) => {
      res.write('{"out":"begun"}\n', () => res.destroy())
    }
    const elsewhere = await makeTempFolder('commands')
    const cutting = await openCommandSocket(cut, elsewhere)
    const askThere = () =>
      askRunning(elsewhere, 'audit', [], { print: () => undefined, showProgress: () => undefined })
    expect(await failureOf(askThere())).to.contain('stopped before the command was done')
    await cutting.close()
    const gone = `no Tally runs in ${elsewhere}: start Tally with npm start, or set DATA_DIR to its data folder`
    expect(await failureOf(askThere())).to.contain(gone)
    await rm(elsewhere, { recursive: true })
    expect(await failureOf(askThere())).to.contain(gone)
  })
})

const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it went well',
    (err: unknown) => String(err),
  )
