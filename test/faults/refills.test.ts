import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { InFlight } from '../../clients/reporter/in-flight.ts'
import { randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { REFILL_POINTS } from '../../services/refill/crash-points.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { type EventLog, LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import { openEventLog } from '../../shared/event-log/open-event-log.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import { ApiClient } from '../support/api-client.ts'
import { IS_LONG, SEED, tell } from '../support/fault-seed.ts'
import { testLog } from '../support/log.ts'
import { type RunningService, startService } from '../support/start-service.ts'
import {
  envOfServices,
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../support/start-services.ts'
import { until } from '../support/until.ts'
import { RefillBooks } from './refill-books.ts'

const CONFIGURATIONS = IS_LONG ? 1_000 : 100
const LOAD_MS = IS_LONG ? 60_000 : 9_000
/** The pause between the reports of a reporter. */
const PAUSE_MS = IS_LONG ? 20 : 120
/** The longest time until services have crashed at every point. */
const LOAD_MAX_MS = LOAD_MS + 120_000
const BOTH_WAYS_MS = LOAD_MS / 3
const [MINIMUM, TARGET, GRANTED] = ['100', '400', '250.5']
const CREATED_AT_ONCE = 8
/** The pause between new contracts. Each began some days ago and gives credit at once. */
const AGREE_MS = IS_LONG ? 100 : 300
const CREDIT_DAYS = 7
/** A service passes a point at most this often before it crashes. */
const TIMES_MAX = 3

const CREDIT_AMOUNTS = ['1', '2.5']
const DAY_S = 86_400

interface AgreedContract {
  id: string
  startsAt: number
}

interface CreditBody {
  amount: string
  effective_at: number
}

const SETTINGS = {
  REFILL_CHECK_MS: IS_LONG ? '1000' : '200',
  REFILL_SWEEP_S: '5',
  REFILL_INTERVAL_S: '1',
  REFILL_PER_DAY_MAX: '100000',
  DATABASE_STATEMENT_TIMEOUT_MS: '5000',
}

describe('refills and credit by four services at once', function () {
  this.timeout(IS_LONG ? 900_000 : 300_000)
  const random = seededRandom(`refills ${SEED}`)
  let engines: SharedEngines
  let services: RunningServices
  let refillers: RunningService[]
  let eventLog: EventLog
  let books: RefillBooks
  let api: ApiClient
  let accounts: string[]
  let contracts: AgreedContract[]

  before(async () => {
    tell(`seed ${SEED}, FAULT_SEED=${SEED} runs it again`)
    // Why separate services: the test needs four refill services, which crash.
    engines = await startSharedEngines('refills')
    services = await startServices(engines, SETTINGS)
    const env = { ...envOfServices(engines), ...SETTINGS }
    const more = await Promise.all([1, 2, 3].map(() => startService('refill', env)))
    refillers = [services.refill, ...more]
    const config = { ...readEventLogConfig(new EnvReader(env)), housekeepingMs: 0 }
    const { pool } = engines.db
    eventLog = await openEventLog(config, { pool, alone: false, housekeeping: false, log: testLog })
    api = new ApiClient(services.url, services.key)
    const company = await companyRepository(pool).findByName('default')
    const { id: metric } = await api.create<{ id: string }>('/v2/metrics', { name: 'tokens' })
    accounts = []
    contracts = []
    await forEachOf(Array.from({ length: CONFIGURATIONS }), async () => {
      const { id } = await api.create<{ id: string }>('/v2/accounts', { name: 'a' })
      const pair = { account_id: id, metric_id: metric }
      await api.create('/v2/grants', { ...pair, amount: GRANTED, effective_at: 0 })
      const amounts = { minimum_balance: MINIMUM, target_balance: TARGET }
      await api.create('/v2/refill-configurations', { ...pair, ...amounts })
      accounts.push(id)
    })
    const namespaceId = company?.namespaceId ?? ''
    const amounts = { minimum: MINIMUM, target: TARGET, granted: GRANTED }
    books = new RefillBooks({ api, eventLog, namespaceId, metric, accounts, ...amounts, random })
  })
  after(async () => {
    await Promise.all(refillers.slice(1).map((refiller) => refiller.stop()))
    await services.stop()
    await eventLog.close()
    await engines.close()
  })

  /** Reports and corrects usage until the signal. */
  const load = async (signal: AbortSignal, how: 'up' | 'either way') => {
    const report = async () => {
      while (!signal.aborted) {
        await books.report()
        await sleep(PAUSE_MS)
      }
    }
    const correct = async () => {
      while (!signal.aborted) {
        await sleep(100)
        if (books.size > 0) await books.correct(20, how)
      }
    }
    await Promise.all([report(), report(), correct(), agree(signal)])
  }

  /**
   * Makes contracts whose credit is due at once. The credit is in a currency, so it does not change the balances that
   * are refilled.
   */
  const agree = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      await sleep(AGREE_MS)
      const startsAt = Math.floor(Date.now() / 1_000) - (CREDIT_DAYS - 1) * DAY_S
      const made = await api.create<{ id: string }>('/v2/contracts', {
        account_id: accounts[randomInteger(random, accounts.length)],
        currency: 'usd',
        cadence: 'day',
        starts_at: startsAt,
        lines: CREDIT_AMOUNTS.map((amount) => ({ credit: { amount, currency: 'usd' } })),
      })
      contracts.push({ id: made.id, startsAt })
    }
  }

  /**
   * Waits for the credit of the last contract, and then checks that each contract has one grant for each line and day.
   */
  const checkCredits = async () => {
    const creditOf = async ({ id }: AgreedContract) => {
      const { body } = await api.get<{ data: CreditBody[] }>(`/v2/grants?contract_v1_id=${id}&limit=100`)
      return body.data.map(({ amount, effective_at }) => `${amount} at ${effective_at}`).toSorted()
    }
    for (const contract of contracts) {
      const wanted = CREDIT_AMOUNTS.flatMap((amount) =>
        Array.from({ length: CREDIT_DAYS }, (_, n) => `${amount} at ${contract.startsAt + n * DAY_S}`),
      ).toSorted()
      await until(async () => (await creditOf(contract)).length >= wanted.length, 60_000)
      expect(await creditOf(contract), contract.id).to.deep.equal(wanted)
    }
    tell(`credit of ${contracts.length} contracts`)
  }

  /** Makes services crash at one point after the other, some at none, and starts them again. */
  const crash = async (counts: Map<string, number>, signal: AbortSignal): Promise<void> => {
    let next = 0
    const crashAgainAndAgain = async (refiller: RunningService) => {
      while (!signal.aborted) {
        const point = REFILL_POINTS[next++ % (REFILL_POINTS.length + 1)] ?? 'anywhere'
        const times = 1 + randomInteger(random, TIMES_MAX)
        await refiller.restart(point === 'anywhere' ? {} : { CRASH_AT: `${point}:${times}` })
        const child = refiller.process
        const ended = once(child, 'exit')
        if (point === 'anywhere') {
          await sleep(randomInteger(random, 2_000))
          child.kill('SIGKILL')
        }
        const stopped = new AbortController()
        await Promise.race([
          ended,
          sleep(60_000, undefined, { signal: AbortSignal.any([signal, stopped.signal]) }).catch(
            () => undefined,
          ),
        ])
        stopped.abort()
        if (child.signalCode === 'SIGKILL') counts.set(point, (counts.get(point) ?? 0) + 1)
        else await refiller.kill9()
      }
    }
    // Only two of four services crash, so that one always continues.
    await Promise.all(
      refillers.slice(0, 2).map(async (refiller) => {
        await refiller.kill9()
        await crashAgainAndAgain(refiller)
        await refiller.restart({ CRASH_AT: '' })
      }),
    )
  }

  /** Waits until all usage is counted, and no balance is below its minimum. */
  const settled = async () => {
    await until(
      async () => (await eventLog.lag(LOADER_GROUP)).every(({ committed, end }) => committed >= end),
      60_000,
    )
    await until(async () => {
      for (let start = 0; start < accounts.length; start += 100) {
        const ids = accounts.slice(start, start + 100).join(',')
        const { body } = await api.get<{ data: { metric_id: string | null; balance: string }[] }>(
          `/v2/accounts/balances?account_ids=${ids}`,
        )
        const ofMetric = body.data.filter(({ metric_id }) => typeof metric_id === 'string')
        if (ofMetric.some(({ balance }) => Number(balance) < Number(MINIMUM))) return false
        await sleep(20)
      }
      return true
    }, 60_000)
  }

  const checkAll = async (): Promise<number> => {
    let refills = 0
    await forEachOf(accounts, async (account) => {
      const found = await books.check(account)
      refills += found
    })
    return refills
  }

  it('are made once for each fall below the minimum, up to the target and no further, and credit of contracts once, wherever a service crashes', async () => {
    const stopping = new AbortController()
    const counts = new Map<string, number>()
    const working = Promise.all([crash(counts, stopping.signal), load(stopping.signal, 'up')])
    const startedAt = performance.now()
    const isEnough = () =>
      performance.now() - startedAt > LOAD_MS && REFILL_POINTS.every((point) => counts.has(point))
    await Promise.race([working, until(() => Promise.resolve(isEnough()), LOAD_MAX_MS)]).finally(() => {
      stopping.abort()
    })
    await working
    const endedAt = performance.now()
    await settled()
    const settledMs = Math.round(performance.now() - endedAt)
    const refills = await checkAll()
    await checkCredits()
    tell(
      `${refills} refills of ${CONFIGURATIONS} configurations over ${books.size} events, settled after ${settledMs} ms`,
    )
    tell([...counts].map(([point, count]) => `${count} crashes at ${point}`).join(', '))
    expect(refills).to.be.greaterThan(CONFIGURATIONS)
  })

  it('keep to that when corrections give usage back', async () => {
    await load(AbortSignal.timeout(BOTH_WAYS_MS), 'either way')
    await settled()
    const refills = await checkAll()
    await checkCredits()
    tell(`${refills} refills over ${books.size} events`)
  })

  it('come within five seconds of the usage', async () => {
    const took: number[] = []
    for (const account of accounts.slice(0, 5)) {
      const before = await books.check(account)
      const startedAt = performance.now()
      await books.use(account, TARGET)
      await until(async () => (await books.refillsOf(account)).length > before, 30_000)
      took.push(Math.round(performance.now() - startedAt))
    }
    tell(`after ${took.join(', ')} ms`)
    expect(Math.max(...took)).to.be.below(5_000)
  })
})

/** Runs work for each item, a few at a time. */
async function forEachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const underWay = new InFlight(CREATED_AT_ONCE)
  for (const item of items) await underWay.add(() => work(item))
  await underWay.settle()
}
