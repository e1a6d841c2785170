import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { newApiKey } from '../../shared/domain/api-key.ts'
import { ApiClient } from '../support/api-client.ts'
import { startTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { makeWorld } from '../support/usage-world.ts'

const AT_ONCE = 60
/** The number of connections for changes of one row or list. */
const LOCK_AT_ONCE = 4
/** The longest answer to a company while all changes of another company wait some seconds for a lock. */
const PROMPT_MS = 1_500
const WRONG_KEYS = 5
/** Longer than a key is cached. */
const FORGOTTEN_MS = 4_500

describe('what one company does', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  /** Clients of two live companies. */
  let [greedy, other]: [ApiClient, ApiClient] = [new ApiClient('', ''), new ApiClient('', '')]
  let [greedyWorld, otherWorld]: Awaited<ReturnType<typeof makeWorld>>[] = []

  before(async () => {
    // Why a separate Tally: the test holds its locks, and sends many wrong keys.
    tally = await startTallyUnderTest({ RATE_LIMIT_WRONG_KEYS_PER_MIN: String(WRONG_KEYS) })
    await tally.command('companies', 'create', '--name', 'other')
    const { output: key } = await tally.command('keys', 'issue', '--company', 'other', '--quiet')
    greedy = new ApiClient(tally.url, tally.key)
    other = new ApiClient(tally.url, key.trim())
    ;[greedyWorld, otherWorld] = [await makeWorld(greedy), await makeWorld(other)]
  })
  after(() => tally.end())

  const account = (world: typeof greedyWorld) => `/v2/accounts/${world?.account ?? ''}`

  /** Holds a lock of the database during some work. */
  async function whileHeld(statement: string, work: () => Promise<void>): Promise<void> {
    const holder = new pg.Client({ connectionString: tally.postgres.superuserUrl })
    await holder.connect()
    try {
      await holder.query('BEGIN')
      await holder.query('SET LOCAL search_path = tally')
      await holder.query(statement)
      await work()
    } finally {
      await holder.end()
    }
  }
  const waitingForLocks = async (): Promise<number> => {
    const watcher = new pg.Client({ connectionString: tally.postgres.superuserUrl })
    await watcher.connect()
    const { rows } = await watcher.query<{ n: number }>(
      "SELECT count(*)::integer AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    )
    await watcher.end()
    return rows[0]?.n ?? 0
  }
  const msOf = async (ask: () => Promise<{ status: number }>): Promise<number> => {
    const startedAt = performance.now()
    expect((await ask()).status).to.be.below(300)
    return performance.now() - startedAt
  }
  /** Checks that requests of another company, and of the same one, are fast while changes wait for a lock. */
  async function isPrompt(): Promise<void> {
    await until(async () => (await waitingForLocks()) > 0)
    // Time for others to take connections, if they did.
    await sleep(200)
    expect(await waitingForLocks()).to.be.within(1, LOCK_AT_ONCE)
    for (const ask of [
      () => other.get(account(otherWorld)),
      () => other.get(`${account(otherWorld)}/balance?currency=usd`),
      () => other.patch(account(otherWorld), { description: 'changed' }),
      () => greedy.get(`/v2/metrics/${greedyWorld?.tokens ?? ''}`),
    ])
      expect(await msOf(ask)).to.be.below(PROMPT_MS)
  }

  it('to one row, many times at once, holds few connections and keeps nobody waiting', () =>
    whileHeld(
      `SELECT 1 FROM accounts WHERE account_id = '${greedyWorld?.account ?? ''}' FOR UPDATE`,
      async () => {
        const changes = Array.from({ length: AT_ONCE }, () =>
          greedy.patch(account(greedyWorld), { description: 'x' }),
        )
        await isPrompt()
        // A request that waits too long for a foreign lock gets 503, and changes nothing.
        const [first] = await Promise.all(changes)
        expect([first?.status, first?.headers.get('retry-after')]).to.deep.equal([503, '1'])
        const { body } = await greedy.get<{ description?: string }>(account(greedyWorld))
        expect(body.description).to.equal(undefined)
      },
    ))

  it('to one list, many times at once, holds few connections and keeps nobody waiting', async () => {
    const { output } = await tally.command('companies', 'list')
    const [namespaceId = ''] =
      /\S+-\S+-\S+-\S+-\S+(?=\s+\S+Z\s*$)/.exec(
        output.split('\n').find((line) => line.includes(' default ')) ?? '',
      ) ?? []
    await whileHeld(
      `SELECT pg_advisory_xact_lock(hashtext('tally.grants'), hashtext('${namespaceId}'))`,
      async () => {
        const grant = { account_id: greedyWorld?.account, currency: 'usd', amount: '1', effective_at: 0 }
        const grants = Array.from({ length: AT_ONCE }, () => greedy.post('/v2/grants', grant))
        await isPrompt()
        await Promise.all(grants)
      },
    )
  })

  it('with wrong keys is answered 401, also once it should wait, and right keys are served', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 2 * WRONG_KEYS; n++) {
      const wrong = new ApiClient(tally.url, newApiKey('live'))
      const answer = await wrong.get('/v2/accounts')
      statuses.push(answer.status)
      expect(answer.text).to.equal('Invalid API key')
      expect(answer.headers.has('retry-after')).to.equal(n >= WRONG_KEYS)
    }
    expect(new Set(statuses)).to.deep.equal(new Set([401]))
    const report = { account_id: otherWorld?.account, currency: 'usd', quantity: '1' }
    expect((await new ApiClient(tally.url, newApiKey('live')).post('/v2/events', report)).status).to.equal(
      401,
    )
    expect((await other.get(account(otherWorld))).status).to.equal(200)
  })

  it('with a key that was revoked while a body came slowly is refused', async () => {
    const { api_key: revoked, key } = await greedy.create<{ api_key: { id: string }; key: string }>(
      '/v2/api-keys',
      { name: 'slow', permissions: ['read:all', 'write:all'] },
    )
    const slow = [
      {
        path: '/v2/events',
        body: JSON.stringify({ account_id: greedyWorld?.account, currency: 'usd', quantity: '5' }),
      },
      { path: '/v2/customers', body: JSON.stringify({ name: 'too late' }) },
    ].map(({ path, body }) => {
      const socket = connect(tally.portOf(path), '127.0.0.1')
      const head = `POST ${path} HTTP/1.1\r\nhost: tally\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n`
      socket.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
      return { socket, rest: body.slice(5) }
    })
    await new ApiClient(tally.url, key).get('/v2/accounts?limit=1') // the key is valid and cached
    expect((await greedy.post(`/v2/api-keys/${revoked.id}/revoke`, undefined)).status).to.equal(200)
    await sleep(FORGOTTEN_MS)
    expect(await Promise.all(slow.map(({ socket, rest }) => statusAfter(socket, rest)))).to.deep.equal([
      401, 401,
    ])
  })
})

async function statusAfter(socket: Socket, rest: string): Promise<number> {
  socket.write(rest)
  const [head] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return Number(head.toString('latin1', 9, 12))
}
