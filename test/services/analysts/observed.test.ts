import { expect } from 'chai'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { createLogger } from '../../../shared/logging/logger.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import { type AnalystEndpoint, startAnalysts, WRONG_PASSWORDS_MAX } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'

describe('what is seen of the queries of analysts', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  const metrics = openMetrics()
  const lines: string[] = []

  before(async () => {
    clickhouse = await createClickHouse('observed')
    const log = createLogger('info', { write: (line: string) => lines.push(line) })
    endpoint = await startAnalysts(clickhouse, { log, metrics })
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

  it('says to wait once an address tried too many passwords, and serves the right one', async () => {
    const wrong = () =>
      endpoint.ask(
        'SELECT 1',
        {},
        { authorization: `Basic ${Buffer.from('analyst:wrong').toString('base64')}` },
      )
    lines.length = 0
    const first = await wrong()
    expect([first.status, first.code]).to.deep.equal([403, 516])
    expect(first.headers.get('ratelimit-policy')).to.equal(`"wrong-passwords";q=${WRONG_PASSWORDS_MAX};w=60`)
    expect(first.headers.get('retry-after')).to.equal(null)
    for (let i = 1; i < WRONG_PASSWORDS_MAX; i++) await wrong()
    const last = await wrong()
    expect([last.status, last.code]).to.deep.equal([403, 516])
    expect(Number(last.headers.get('retry-after'))).to.be.within(1, 60)
    expect((await endpoint.ask('SELECT 1')).text).to.equal('1\n')
    expect(lines).to.have.length(1)
  })
})
