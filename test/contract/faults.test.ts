import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import pg from 'pg'
import { type Answered, ApiClient } from '../support/api-client.ts'
import { LAYOUT } from '../support/layout.ts'
import { startTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { makeRequestWorld, type World } from './requests.ts'

const SETTINGS = {
  REQUEST_TIMEOUT_MS: '700',
  EVENT_LOG_APPEND_TIMEOUT_MS: '400',
  DATABASE_STATEMENT_TIMEOUT_MS: '5000',
}

describe('answers when something is at fault', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let admin: pg.Client
  let world: World

  before(async () => {
    // Why a separate Tally: its tables are locked, and its services cannot connect.
    tally = await startTallyUnderTest(SETTINGS)
    api = new ApiClient(tally.url, tally.key)
    world = await makeRequestWorld(api)
    admin = new pg.Client({ connectionString: tally.postgres.superuserUrl })
    await admin.connect()
  })
  after(async () => {
    await admin.end()
    await tally.end()
  })

  const report = (account = world.account): Promise<Answered<object>> =>
    api.post('/v2/events', { account_id: account, currency: 'usd', quantity: '1' })
  const expectTryAgain = ({ status, headers, text }: Answered<object>, reason: RegExp): void => {
    expect(status, text).to.equal(503)
    expect(text).to.match(reason)
    expect(headers.get('retry-after')).to.equal('1')
  }

  it('are 408 for a read that takes too long, and 503 for a change of which nobody knows', async () => {
    await admin.query('BEGIN; LOCK TABLE tally.accounts IN ACCESS EXCLUSIVE MODE')
    const [asked, changed] = await Promise.all([
      api.get<object>('/v2/accounts'),
      api.post<object>('/v2/accounts', { name: 'x' }),
    ])
    await admin.query('ROLLBACK')
    expect([asked.status, asked.text]).to.deep.equal([408, 'request timed out'])
    expectTryAgain(changed, /took too long/)
    expect((await api.get('/v2/accounts')).status).to.equal(200)
  })

  it('are 408 for a request that does not arrive', async () => {
    for (const path of ['/v2/events', '/v2/accounts']) {
      const socket = connect(tally.portOf(path), '127.0.0.1')
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nx-api-key: ${tally.key}\r\ncontent-type: application/json\r\n` +
          `content-length: 100\r\n\r\n{`,
      )
      let text = ''
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
      await once(socket, 'close')
      expect(text).to.match(/^HTTP\/1\.1 408 .*content-type: text\/plain.*\r\n\r\nrequest timed out$/is)
    }
  })

  it('are 503 while the databases take no connections, and as before once they do', async () => {
    await admin.query('ALTER ROLE tally_service CONNECTION LIMIT 0')
    const cut = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1'
    await admin.query(cut, ['tally_service'])
    expectTryAgain(
      await until(async () => failed(await api.get<object>('/v2/accounts'))),
      /cannot be reached/,
    )
    // With Kafka, reports of cached accounts still succeed while their key is cached.
    if (LAYOUT === 'embedded')
      expectTryAgain(await until(async () => failed(await report())), /event log|cannot be reached/)
    await admin.query('ALTER ROLE tally_service CONNECTION LIMIT -1')
    await until(async () => (await api.get('/v2/accounts')).status === 200)
    await until(async () => (await report()).status === 202)
  })

  it('are 500 and say nothing of the inside when we are at fault', async () => {
    await admin.query('ALTER TABLE tally.accounts RENAME COLUMN account_id TO moved')
    const answers = [
      await api.get<object>(`/v2/accounts/${world.account}`),
      await report(`account_${'1'.repeat(32)}`),
    ]
    await admin.query('ALTER TABLE tally.accounts RENAME COLUMN moved TO account_id')
    for (const { status, text } of answers) expect([status, text]).to.deep.equal([500, 'internal error'])
    expect(await tally.output()).to.contain('42703') // undefined_column, in the log
  })
})

const failed = (answer: Answered<object>): Answered<object> | false => answer.status >= 500 && answer
