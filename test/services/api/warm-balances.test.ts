import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { keepBalancesWarm, warmBalances } from '../../../services/api/balances/warm-balances.ts'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { listRecentlyUsed } from '../../../shared/clickhouse/rollups/recently-used-accounts.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { type LatestSums, makeLatestSums } from '../../../shared/clickhouse/usage/latest-sums.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { countingClickHouse, QueryCounts } from '../../support/count-queries.ts'
import { testLog } from '../../support/log.ts'
import { type RollupStage, startRollupStage } from '../../support/rollup-stage.ts'
import { until } from '../../support/until.ts'
import { makeReport, NAMESPACE } from '../../support/usage-event.ts'

const HOUR_S = 3_600
const OTHER_NAMESPACE = 'another_namespace'
const accountId = (digit: string) => `account_${digit.repeat(32)}`
const [busy, calm, marked, idle] = ['1', '2', '3', '4'].map(accountId) as [string, string, string, string]

describe('warming of balances', function () {
  this.timeout(60_000)
  let stage: RollupStage
  const { signal } = new AbortController()

  before(async () => {
    stage = await startRollupStage('warming', 300)
    expect(await listRecentlyUsed(stage.client, 10), 'before there are rollups').to.deep.equal([])
    const now = await stage.epochs.now()
    const uses = (account: string, times: number, agoS: number, namespaceId = NAMESPACE) =>
      Array.from({ length: times }, () =>
        makeReport({ accountId: account, namespaceId, occurredAt: now - agoS, quantity: '1' }),
      )
    const events = [
      ...uses(busy, 5, 2 * HOUR_S),
      ...uses(busy, 7, 9 * DAY_S),
      ...uses(calm, 2, 2 * HOUR_S),
      ...uses(marked, 3, 3 * HOUR_S),
      ...uses(idle, 9, 9 * DAY_S),
      ...uses(busy, 4, 2 * HOUR_S, OTHER_NAMESPACE),
    ]
    const lines = Buffer.from(events.map(usageEventToLine).join('\n'))
    await usageEventRepository(stage.writing).insertLines(lines)
    const parts = {
      client: stage.computing,
      epochs: rollupEpochRepository(stage.computing),
      tables: rollupTables(stage.computing, 30),
    }
    await buildEpoch(parts, HOUR_S)
    const slot = now - 3 * HOUR_S
    await dirtySlotRepository(stage.writing).turnReady(
      [{ namespaceId: NAMESPACE, accountId: marked, slot: slot - (slot % 300), kind: 'slot' as const }],
      '1',
      now,
    )
  })
  after(() => stage.close())

  const warm = (client: RollupStage['client'], limit: number, latestSums?: LatestSums) => {
    const usage = usageThroughRollups(client, latestSums)
    const deps = { usage, listRecentlyUsed: (max: number) => listRecentlyUsed(stage.client, max) }
    return { usage, warmed: warmBalances(deps, limit, signal) }
  }

  it('leaves little to read for who has used something in the last day', async () => {
    const counts = new QueryCounts()
    const { usage, warmed } = warm(countingClickHouse(stage.client, counts), 10)
    expect(await warmed, 'accounts').to.equal(4)
    expect(
      counts.clickhouse.filter(
        ({ query }) => /FROM usage_events[^_]/.test(query) && !/usage_by_(day|month)/.test(query),
      ),
      'open slots were read',
    ).to.deep.equal([])
    const read = async (account: string, namespaceId = NAMESPACE) => {
      counts.clear()
      const sum = (await usage.sumByAccount(namespaceId, [account])).get(account)?.get('usd')
      const readsAll = counts.clickhouse.some(({ query }) => /FROM usage_by_(day|month) /.test(query))
      return { sum: sum === undefined ? undefined : formatAmount(sum), readsAll }
    }
    expect(await read(busy)).to.deep.equal({ sum: '12', readsAll: false })
    expect(await read(calm)).to.deep.equal({ sum: '2', readsAll: false })
    expect(await read(busy, OTHER_NAMESPACE)).to.deep.equal({ sum: '4', readsAll: false })
    // Late usage of one account does not drop the sums of others.
    expect(await read(marked)).to.deep.equal({ sum: '3', readsAll: true })
    expect(await read(idle)).to.deep.equal({ sum: '9', readsAll: true })
  })

  it('leaves nothing to read where nobody else writes, and is done once', async () => {
    const counts = new QueryCounts()
    const client = countingClickHouse(stage.client, counts)
    const latestSums = makeLatestSums(0)
    const { usage, warmed } = warm(client, 10, latestSums)
    await warmed
    counts.clear()
    const sumOf = async (account: string) => {
      const sum = (await usage.sumByAccount(NAMESPACE, [account])).get(account)?.get('usd')
      return sum && formatAmount(sum)
    }
    expect(await sumOf(busy)).to.equal('12')
    expect(await sumOf(calm)).to.equal('2')
    await usage.readAhead(OTHER_NAMESPACE, [busy])
    expect(counts.clickhouse, 'queries').to.deep.equal([])
    expect(latestSums.has({ namespaceId: NAMESPACE, accountId: marked }), 'its events were read').to.equal(
      false,
    )
    expect(await sumOf(marked)).to.equal('3')
    // This also holds when an account that was read ahead gets late usage.
    const now = await stage.epochs.now()
    const dirty = dirtySlotRepository(stage.writing)
    const slot = {
      namespaceId: NAMESPACE,
      accountId: calm,
      slot: now - (now % 300) - 3_600,
      kind: 'slot',
    } as const
    await latestSums.whileWriting([slot], () => dirty.turnReady([slot], '3', now))
    await usage.readAhead(NAMESPACE, [calm])
    expect(latestSums.has(slot), 'its events were read').to.equal(false)
    await dirty.cancel([{ insertId: '3', stage: 1 }])
    await usage.readAhead(NAMESPACE, [calm])
    expect(latestSums.has(slot)).to.equal(true)
    // One read is enough if the mark was processed in between.
    await latestSums.whileWriting([slot], () => dirty.turnReady([slot], '4', now))
    await dirty.cancel([{ insertId: '4', stage: 1 }])
    await usage.readAhead(NAMESPACE, [calm])
    expect(latestSums.has(slot)).to.equal(true)
  })

  it('caches nobody while a mark of all accounts stands', async () => {
    const now = await stage.epochs.now()
    const slot = now - 4 * HOUR_S
    const ofAll = [
      { namespaceId: NAMESPACE, accountId: '', slot: slot - (slot % 300), kind: 'slot' as const },
    ]
    await dirtySlotRepository(stage.writing).turnReady(ofAll, '2', now)
    const counts = new QueryCounts()
    const { usage, warmed } = warm(countingClickHouse(stage.client, counts), 10)
    await warmed
    const read = counts.clickhouse.filter(
      ({ query, params }) =>
        (params['namespaceIds'] as string[] | undefined)?.includes(NAMESPACE) &&
        /FROM usage_(?:by_day|events)\b/.test(query),
    )
    expect(read, 'for nothing').to.deep.equal([])
    counts.clear()
    const sum = (await usage.sumByAccount(NAMESPACE, [busy])).get(busy)?.get('usd')
    expect(sum && formatAmount(sum)).to.equal('12')
    expect(counts.clickhouse.some(({ query }) => /FROM usage_by_(day|month) /.test(query))).to.equal(true)
  })

  it('goes as far as it may, to those with most events first', async () => {
    expect(await listRecentlyUsed(stage.client, 2)).to.have.deep.members([
      { namespaceId: NAMESPACE, accountIds: [busy] },
      { namespaceId: OTHER_NAMESPACE, accountIds: [busy] },
    ])
    expect(await warm(stage.client, 2).warmed).to.equal(2)
  })

  it('begins another round when several accounts are asked for that were not warm', async () => {
    let [rounds, misses] = [0, 0]
    const usage = { readAhead: () => Promise.resolve(), countMisses: () => misses }
    const listRecently = () => {
      rounds++
      return Promise.resolve([])
    }
    const options = { accountsMax: 10, everyMs: 60_000, wokenAfterMs: 500 }
    const deps = { usage, listRecentlyUsed: listRecently }
    const warming = keepBalancesWarm(deps, options, openMetrics(), testLog)
    try {
      await until(() => Promise.resolve(rounds === 1), 10_000)
      misses += 9
      await sleep(1_000)
      expect(rounds, 'after few misses').to.equal(1)
      misses += 1
      await until(() => Promise.resolve(rounds === 2), 10_000)
      await sleep(1_000)
      expect(rounds, 'without more misses').to.equal(2)
    } finally {
      await warming.close()
    }
  })

  it('ends when it is told to, whatever is under way', async () => {
    const stopping = new AbortController()
    const asked: string[] = []
    const usage = {
      readAhead: (namespaceId: string) => {
        asked.push(namespaceId)
        setImmediate(() => {
          stopping.abort()
        })
        return new Promise<never>(() => undefined) // ClickHouse hangs
      },
    }
    const listRecently = () => Promise.resolve([{ namespaceId: NAMESPACE, accountIds: [busy] }])
    const outcome = await warmBalances({ usage, listRecentlyUsed: listRecently }, 10, stopping.signal).catch(
      (err: unknown) => err,
    )
    expect(outcome).to.have.property('name', 'AbortError')
    expect(asked).to.deep.equal([NAMESPACE])
  })

  it('passes over what cannot be read, and says so in the end', async () => {
    const asked: string[] = []
    const usage = {
      readAhead: (namespaceId: string) => {
        asked.push(namespaceId)
        return namespaceId === NAMESPACE ? Promise.reject(new Error('timed out')) : Promise.resolve()
      },
    }
    const deps = { usage, listRecentlyUsed: (max: number) => listRecentlyUsed(stage.client, max) }
    const outcome = await warmBalances(deps, 10, signal).catch((err: unknown) => err)
    expect(outcome).to.be.an('error').with.property('message', 'timed out')
    expect(asked).to.deep.equal([NAMESPACE, OTHER_NAMESPACE])
  })
})
