import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { scopeOfAll } from '../../../services/analysts/analyst-scope.ts'
import { fixedUsers } from '../../../services/analysts/endpoint-user.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { createLogger } from '../../../shared/logging/logger.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import {
  type AnalystEndpoint,
  PASSWORD,
  startAnalysts,
  USER,
  WRONG_PASSWORDS_MAX,
} from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'

describe('what is seen of the queries of analysts', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  const metrics = openMetrics()
  const lines: string[] = []

  before(async () => {
    clickhouse = await createClickHouse('observed')
    const log = createLogger('info', { write: (line: string) => lines.push(line) })
    const { database } = clickhouse
    endpoint = await startAnalysts(clickhouse, {
      log,
      metrics,
      others: (analysts) =>
        fixedUsers([
          { ...analysts.userOf({ name: 'ada', scope: scopeOfAll(database) }), password: PASSWORD },
        ]),
    })
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  it('is one line each, with a digest in place of the text', async () => {
    lines.length = 0
    await endpoint.ask("SELECT 'a secret', arrayJoin([1, 2])")
    await endpoint.ask("SELECT file('/secret')")
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(told).to.have.length(2)
    expect(told[0]).to.include({
      user: 'analyst',
      rows: 2,
      bytes: 22,
      code: 0,
      digest: 'c59fe7c37c2b006d',
      level: 30,
    })
    expect(told[0]?.['ms']).to.be.within(0, 10_000)
    expect(told[1]).to.include({ user: 'analyst', rows: 0, bytes: 0, code: 497 })
    expect(lines.join()).to.not.match(/secret|SELECT/)
  })

  it('is counted by user and code, with how long it took', async () => {
    const read = async (series: string) => {
      const { text } = await metrics.scrape()
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')
          .at(-1) ?? 0,
      )
    }
    const [went, refused, took] = [
      'tally_analyst_queries_total{user="analyst",code="0"}',
      'tally_analyst_queries_total{user="analyst",code="497"}',
      'tally_analyst_seconds_count',
    ]
    const before = [await read(went), await read(refused), await read(took)]
    await endpoint.ask('SELECT 1')
    await endpoint.ask("SELECT file('/secret')")
    const after = [await read(went), await read(refused), await read(took)]
    expect(after.map((value, n) => value - (before[n] ?? 0))).to.deep.equal([1, 1, 2])
    expect(await read('tally_analyst_waiting')).to.equal(0)
  })

  it('limits how many passwords of a name an address tries, and locks out no other name or address', async () => {
    const basic = (user: string, password: string) =>
      `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    /** Asks from an address of this machine. */
    const askFrom = async (localAddress: string, authorization: string) => {
      const asked = request(endpoint.url, {
        method: 'POST',
        headers: { authorization },
        localAddress,
        agent: false,
      })
      asked.end('SELECT 1')
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      return {
        status: response.statusCode,
        code: Number(response.headers['x-clickhouse-exception-code']),
        headers: response.headers,
        text: Buffer.concat(await response.toArray()).toString(),
      }
    }
    const wrong = () => askFrom('127.0.0.1', basic('analyst', 'wrong'))
    lines.length = 0
    const first = await wrong()
    expect([first.status, first.code]).to.deep.equal([403, 516])
    expect(first.headers['ratelimit-policy']).to.equal(`"wrong-passwords";q=${WRONG_PASSWORDS_MAX};w=60`)
    expect(first.headers['retry-after']).to.equal(undefined)
    const guesses = await Promise.all(Array.from({ length: 3 * WRONG_PASSWORDS_MAX }, wrong))
    const compared = guesses.filter(({ text }) => text.includes('password is incorrect'))
    expect(compared.length).to.be.within(WRONG_PASSWORDS_MAX - 1, WRONG_PASSWORDS_MAX + 50)
    // A right password is now no more than a wrong one, or guessing would go on.
    const [last, right] = [await wrong(), await askFrom('127.0.0.1', basic(USER, PASSWORD))]
    expect([last.status, last.code]).to.deep.equal([403, 516])
    expect(Number(last.headers['retry-after'])).to.be.within(1, 60)
    expect(right).to.deep.include({ status: 403, code: 516 })
    expect(right.text.replace(/in \d+ s/, '')).to.equal(last.text.replace(/in \d+ s/, ''))
    expect((await askFrom('127.0.0.2', basic(USER, PASSWORD))).text).to.equal('1\n')
    expect((await askFrom('127.0.0.1', basic('ada', PASSWORD))).text).to.equal('1\n')
    expect(lines).to.have.length(2)
  })
})
