import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { drainOf } from '../../../shared/event-log/drain.ts'
import { ApiClient } from '../../support/api-client.ts'
import { LAYOUT } from '../../support/layout.ts'
import { startTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { makeWorld } from '../../support/usage-world.ts'

describe('draining', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient

  before(async () => {
    // Why a separate Tally: its loader is slow on purpose, and cannot commit.
    tally = await startTallyUnderTest({ LOADER_FLUSH_MS: '400' })
    api = new ApiClient(tally.url, tally.testKey)
  })
  after(() => tally.end())

  it('ends when what was acknowledged before is counted, while more and more is reported', async () => {
    const world = await makeWorld(api)
    let going = true
    let acknowledged = 0
    const report = async () => {
      while (going) {
        const { status } = await world.reportAll(
          Array.from({ length: 100 }, () => ({ metric_id: world.tokens, quantity: '1' })),
        )
        if (status === 202) acknowledged += 100
        await sleep(10)
      }
    }
    const busy = [report(), report(), report()]
    try {
      for (let n = 0; n < 8; n++) {
        do await sleep(300)
        while (acknowledged === 0)
        const before = acknowledged
        expect(await api.create<object>('/v2/test/drain', { timeout: 20 })).to.deep.equal({ drained: true })
        const { usage_total: counted } = await world.balance(`metric_id=${world.tokens}`)
        expect(Number(counted)).to.be.at.least(before)
      }
    } finally {
      going = false
      await Promise.all(busy)
    }
  })

  it('does not wait for what is accepted later, and gives up in time', async () => {
    const lag = { partition: 0, committed: 5, end: 10 }
    const log = {
      lag: () => {
        lag.end += 5
        lag.committed += 1
        return Promise.resolve([{ ...lag }])
      },
    }
    expect(await drainOf(log)(5_000)).to.equal(true)
    expect(lag.committed).to.be.within(15, 16)
    const startedAt = performance.now()
    const stuck = { lag: () => Promise.resolve([{ partition: 0, committed: 1, end: 2 }]) }
    expect(await drainOf(stuck)(200)).to.equal(false)
    expect(performance.now() - startedAt).to.be.within(190, 5_000)
  })

  it('is 408 when that takes longer than it was given', async function () {
    if (LAYOUT === 'processes') this.skip() // a test cannot lock Kafka's offsets
    const world = await makeWorld(api)
    const holder = new pg.Client({ connectionString: tally.postgres.superuserUrl })
    await holder.connect()
    await holder.query('BEGIN; LOCK TABLE tally.event_log_offsets IN EXCLUSIVE MODE') // loaders cannot commit
    try {
      expect((await world.report({ currency: 'usd', quantity: '1' })).status).to.equal(202)
      const { status, text } = await api.post('/v2/test/drain', { timeout: 1 })
      expect([status, text]).to.deep.equal([
        408,
        'not all usage that was accepted before this request is counted yet: ask again',
      ])
    } finally {
      await holder.end()
    }
    expect((await api.post('/v2/test/drain', {})).status).to.equal(200)
  })

  it('takes a time limit of up to 25 seconds', async () => {
    for (const timeout of [0, 26, 1.5, '5']) {
      const { status, text } = await api.post('/v2/test/drain', { timeout })
      expect([status, text.startsWith('timeout: ')], text).to.deep.equal([400, true])
    }
    expect((await api.post('/v2/test/drain', undefined)).status).to.equal(200)
  })
})
