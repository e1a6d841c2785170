import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { Tally } from '../../../clients/sdk/src/node.ts'
import { UsageReporter } from '../../../clients/sdk/src/reporter/index.ts'
import { SPOOL_TIMINGS } from '../../../clients/sdk/src/reporter/spool/spool.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import { readSdkOperations, type SdkOperation } from '../../../tools/generate/sdk-operations.ts'
import { makeRequestWorld, type Request, TRIES, type World } from '../../contract/requests.ts'
import { ApiClient } from '../../support/api-client.ts'
import { IS_LONG } from '../../support/fault-seed.ts'
import { faultyProxy } from '../../support/faulty-proxy.ts'
import { copyPrograms, installPython, requirePrograms, runIn } from '../../support/programs.ts'
import { shareTallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'
import { runTally } from '../cli/run-tally.ts'
import type { ReportOrder } from '../sdk/reporter/report.main.ts'

/** Long, because the first run fetches packages over the network. FAULT_LONG=1 kills reporters over many more events. */
const TIMEOUT_MS = IS_LONG ? 1_800_000 : 600_000
const SPOOLED = IS_LONG ? 100_000 : 1_000

/** A request as the arguments of a method: those of the path, then query and body. */
function argumentsOf({ path: template, query, body }: SdkOperation, request: Request) {
  const [target = '', text] = request.target.split('?')
  const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '([^/]+)')}$`)
  return {
    path: pattern.exec(target)?.slice(1).map(decodeURIComponent) ?? [],
    contents: [
      ...(query === 'none' ? [] : [Object.fromEntries(new URLSearchParams(text))]),
      ...(body === 'none' ? [] : [request.body]),
    ],
  }
}

const KINDS = ['good', 'conflict', 'impossible'] as const

/**
 * Serves requests that can be tried: at `/` all operations, at `/OPERATION/KIND` the arguments of a call. They are made
 * when they are asked for, because some depend on what was done before.
 */
async function serveRequests(worldOf: (isForTests: boolean) => World): Promise<Server> {
  const operations = readSdkOperations(readOpenApiDocument())
  const triesOf = (id: string) => {
    const tries = TRIES[id]
    if (tries === undefined) throw new Error(`test/contract/requests.ts does not try ${id}`)
    return tries
  }
  const list = operations.map(({ id, resource, name }) => ({
    id,
    resource: snakeCase(resource),
    method: snakeCase(name),
    isForTests: triesOf(id).isForTests === true,
    kinds: KINDS.filter((kind) => triesOf(id)[kind] !== undefined),
  }))
  const answer = async (url: string): Promise<unknown> => {
    const [, id = '', kind] = url.split('/')
    const operation = operations.find((one) => one.id === id)
    if (operation === undefined) return list
    const make = triesOf(id)[kind as (typeof KINDS)[number]]
    return make && argumentsOf(operation, await make(worldOf(triesOf(id).isForTests === true)))
  }
  const server = createServer((req, res) => {
    answer(req.url ?? '').then(
      (value) => res.end(JSON.stringify(value)),
      (err: unknown) => res.writeHead(500).end(String(err)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

interface ReportedEvent {
  account_id: string
  quantity: string
  idempotency_key: string
  properties: unknown
}

const ACCOUNT = `account_${'a'.repeat(32)}`
const METRIC = `metric_${'b'.repeat(32)}`
const EXTERNAL_ID = 'a"c✓'
const numbered = (name: string) => Array.from({ length: 20 }, (_, n) => `${name} ${n}`)
/** A client of a Tally that is away, or that has the company and the account of these tests. */
const clientOf = (onEvents?: (events: readonly object[]) => void): Tally =>
  new Tally({
    url: 'http://tally.test',
    apiKey: 'tally_test_key',
    transport: Tally.testing.memoryTransport(({ path, body }) => {
      if (onEvents === undefined) return { status: 503, body: 'away' }
      if (path === '/v2/caller') return { body: { company: { id: 'company-1' } } }
      if (path !== '/v2/events/batch') return { body: { id: ACCOUNT } }
      const { events } = body as { events: object[] }
      onEvents(events)
      return { body: { accepted: events.length } }
    }),
  })

/** Writes a spool with the reporter for TypeScript. */
async function writeSpool(dir: string): Promise<void> {
  const usage = new UsageReporter(clientOf(), { spool: { dir } })
  await Promise.all(
    numbered('typescript').map((key, n) =>
      usage.report({
        account: n % 2 === 0 ? ACCOUNT : { externalId: EXTERNAL_ID },
        metric: METRIC,
        quantity: `${n}.000000000000000001`,
        key,
      }),
    ),
  )
  expect((await usage.close({ deadlineMs: 0 })).kept).to.equal(20)
}

/** Sends a spool with the reporter for TypeScript. @returns the events as JSON */
async function drainSpool(dir: string): Promise<string[]> {
  const sent: string[] = []
  const client = clientOf((events) => {
    sent.push(...events.map((event) => JSON.stringify(event)))
  })
  const usage = new UsageReporter(client, { spool: { dir } })
  await until(() => Promise.resolve(sent.length >= 20))
  expect((await usage.close()).kept).to.equal(0)
  return sent
}

describe('the client for Python', function () {
  this.timeout(TIMEOUT_MS)
  let folder: string
  let env: Record<string, string>
  let requests: Server | undefined

  before(async function () {
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    folder = await copyPrograms('../clients/python')
    await installPython(folder, ['.', '-r', 'tests/requirements.txt'])
    const under = await shareTallyUnderTest()
    const [live, trials] = await Promise.all(
      [under.key, under.testKey].map((key) => makeRequestWorld(new ApiClient(under.url, key))),
    )
    if (live === undefined || trials === undefined) throw new Error('there are two companies')
    requests = await serveRequests((isForTests) => (isForTests ? trials : live))
    const { port } = requests.address() as AddressInfo
    env = {
      TALLY_TEST_URL: under.url,
      TALLY_TEST_LIVE_KEY: under.key,
      TALLY_TEST_TEST_KEY: under.testKey,
      TALLY_TEST_REQUESTS: `http://127.0.0.1:${port}`,
      TALLY_TEST_VECTORS: path.join(PROJECT_ROOT, 'clients/vectors'),
      TALLY_TEST_SPOOLS: path.join(folder, 'spools'),
    }
  })

  after(() => {
    requests?.close()
  })

  const python = (...words: string[]) => runIn(folder, 'venv/bin/python', ['-m', ...words], env)

  it("does what the one for TypeScript does, and they drain each other's spools", async () => {
    const spools = path.join(folder, 'spools')
    await writeSpool(path.join(spools, 'typescript'))
    await python('pytest')
    const drained = await drainSpool(path.join(spools, 'python'))
    const events = drained.map((body) => JSON.parse(body) as ReportedEvent)
    expect(events.map(({ idempotency_key: key }) => key)).to.have.members(numbered('python'))
    expect(new Set(events.map(({ account_id: account }) => account))).to.deep.equal(new Set([ACCOUNT]))
    for (const { idempotency_key: key, quantity, properties } of events) {
      const n = Number(key.split(' ')[1])
      expect(quantity).to.equal(`${n}.000000000000000001`)
      expect(properties).to.deep.equal({ text: 'ä\u2028\n😀', n: [null, n, 0.5] })
    }
  })

  it('leaves a spool that `tally reporter drain` sends', async () => {
    let isAway = true
    const proxy = await faultyProxy(env['TALLY_TEST_URL'] ?? '', () => (isAway ? { status: 503 } : 'pass'))
    const apiKey = env['TALLY_TEST_LIVE_KEY'] ?? ''
    const api = new ApiClient(proxy.target, apiKey)
    const account = await api.create<{ id: string }>('/v2/accounts', { name: 'Acme' })
    const metric = await api.create<{ id: string }>('/v2/metrics', { name: 'tokens' })
    const dir = path.join(folder, 'spools/drained')
    const order: ReportOrder = {
      url: proxy.url,
      apiKey,
      options: { spool: { dir } },
      timings: SPOOL_TIMINGS,
      event: { account: account.id, metric: metric.id, quantity: '0.1' },
      run: 'python',
      events: SPOOLED,
      wave: SPOOLED,
      pauseMs: 0,
      end: 'nothing',
      adds: true,
    }
    await runIn(folder, 'venv/bin/python', ['tests/report_usage.py', JSON.stringify(order)])
    isAway = false
    const given = { env: { TALLY_URL: proxy.url, TALLY_API_KEY: apiKey } }
    const { code, out, err } = await runTally(['reporter', 'drain', dir], given)
    expect(code, err).to.equal(0)
    expect(JSON.parse(out)).to.include({ accepted: SPOOLED, rejected: 0, left: 0 })
    await until(async () => {
      const at = `/v2/accounts/${account.id}/balance?metric_id=${metric.id}`
      const { body } = await api.get<{ usage_total: string }>(at)
      return body.usage_total === String(SPOOLED / 10)
    }, 60_000)
    await proxy.close()
  })

  it('has a guide whose code runs', async () => {
    const guide = await readFile(path.join(PROJECT_ROOT, 'docs/guides/python.md'), 'utf8')
    const blocks = [...guide.matchAll(/<!-- python -->\n\n```python\n([^]*?)```/g)].map(
      ([, code = '']) => code,
    )
    const code = [...blocks, 'import asyncio\nprint(asyncio.run(first_amount()))\n'].join('\n')
    await writeFile(path.join(folder, 'guide.py'), code)
    const printed = await runIn(folder, 'venv/bin/python', ['guide.py'], {
      TALLY_URL: env['TALLY_TEST_URL'] ?? '',
      TALLY_API_KEY: env['TALLY_TEST_LIVE_KEY'] ?? '',
    })
    expect(printed).to.match(
      /^10000\nleft: 9999\.5\nCloseResult\(accepted=2, kept=0, rejected=0\)\n400 .*field='quantity'.*\n5 1\n10000\n$/,
    )
  })

  it('has types that a strict checker takes, and code that ruff takes', async () => {
    await python('mypy')
    await python('ruff', 'check', 'src', 'tests')
    await python('ruff', 'format', '--check', 'src', 'tests')
  })
})
