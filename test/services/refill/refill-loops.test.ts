import { expect } from 'chai'
import { balancesLoop } from '../../../services/refill/balances-loop.ts'
import { creditsLoop } from '../../../services/refill/credits-loop.ts'
import type { UsagePoll } from '../../../services/refill/follow-usage.ts'
import { refillCooldowns } from '../../../services/refill/refill-cooldowns.ts'
import { runLoop } from '../../../services/refill/refill-loop.ts'
import { sweepLoop } from '../../../services/refill/sweep-loop.ts'
import { Activity } from '../../../shared/lifecycle/activity.ts'
import type { RefillRequest } from '../../../shared/postgres/refill-requests.ts'

const HOUR_MS = 3_600_000
const balance = (accountId: string, namespaceId = 'n1'): RefillRequest => ({
  namespaceId,
  accountId,
  metricId: 'metric_1',
})

describe('loops of refills', () => {
  const { signal } = new AbortController()
  const realNow = performance.now.bind(performance)
  let passedMs = 0
  let isFailing = false

  before(() => {
    performance.now = () => realNow() + passedMs
  })
  beforeEach(() => {
    passedMs = 0
    isFailing = false
  })
  after(() => {
    performance.now = realNow
  })

  /** @returns the error of the work */
  const failureOf = (work: Promise<void>) =>
    work.then(
      () => undefined,
      (err: unknown) => err,
    )

  describe('that of balances', () => {
    const makeLoop = ({ touched }: Pick<UsagePoll, 'touched'>, namespaces = new Set(['n1'])) => {
      const seen: string[] = []
      const counts = { acknowledged: 0, sweeps: 0 }
      const cooldowns = refillCooldowns()
      const loop = balancesLoop({
        follow: () => Promise.resolve({ touched, acknowledge: () => counts.acknowledged++ }),
        check(namespaceId, keys) {
          if (isFailing) return Promise.reject(new Error('away'))
          seen.push(...keys.map(({ accountId }) => `${namespaceId} ${accountId}`))
          return Promise.resolve()
        },
        cooldowns,
        sweeps: { namespaces: () => namespaces, request: () => counts.sweeps++ },
      })
      return { loop, cooldowns, seen, counts }
    }

    it('looks once at what was requested, has cooled down and whose usage of a metric has changed', async () => {
      const { loop, cooldowns, seen, counts } = makeLoop({
        touched: [
          { namespaceId: 'n1', accountId: 'a', source: 'metric_1' },
          { namespaceId: 'n1', accountId: 'b', source: 'metric_1' },
          { namespaceId: 'n1', accountId: 'money', source: 'usd' },
        ],
      })
      loop.request(balance('a'))
      loop.request(balance('elsewhere', 'n2'))
      cooldowns.begin(balance('a'), performance.now() + HOUR_MS)
      cooldowns.begin(balance('c'), performance.now())
      cooldowns.begin(balance('d'), performance.now() + HOUR_MS)
      await loop.work(signal)
      expect(seen).to.deep.equal(['n1 a', 'n1 c', 'n1 b'])
      expect(cooldowns.isCoolingDown(balance('a'))).to.equal(false)
      expect(cooldowns.isCoolingDown(balance('d'))).to.equal(true)
      expect(counts).to.deep.equal({ acknowledged: 1, sweeps: 0 })
    })

    it('looks again at what was requested when a round failed, and does not acknowledge the usage', async () => {
      const { loop, seen, counts } = makeLoop({ touched: [] })
      loop.request(balance('a'))
      isFailing = true
      expect(await failureOf(loop.work(signal))).to.have.property('message', 'away')
      expect(counts.acknowledged).to.equal(0)
      isFailing = false
      await loop.work(signal)
      await loop.work(signal)
      expect(seen).to.deep.equal(['n1 a'])
      expect(counts.acknowledged).to.equal(2)
    })

    it('asks for a sweep when too much has changed, and when too much is requested', async () => {
      const { loop, seen, counts } = makeLoop({ touched: undefined })
      await loop.work(signal)
      expect(counts).to.deep.equal({ acknowledged: 1, sweeps: 1 })
      for (let n = 0; n <= 20_000; n++) loop.request(balance(`a${n}`))
      expect(counts.sweeps).to.equal(2)
      await loop.work(signal)
      expect(seen).to.have.length(20_000)
    })
  })

  describe('that of sweeps', () => {
    const makeLoop = (sweepMs: number) => {
      const swept: number[] = []
      let during: () => void = () => undefined
      const loop = sweepLoop(
        {
          sweep() {
            during()
            return isFailing ? Promise.reject(new Error('away')) : Promise.resolve(new Set(['found']))
          },
          metrics: { swept: (seconds) => swept.push(seconds) },
        },
        sweepMs,
      )
      return { loop, swept, onSweep: (act: () => void) => (during = act) }
    }

    it('is due at first, when its time has come, and five seconds after the last one when asked', async () => {
      const { loop, swept } = makeLoop(HOUR_MS)
      expect(loop.isDue()).to.equal(true)
      await loop.work(signal)
      expect(swept).to.have.length(1)
      passedMs = 10_000
      expect(loop.isDue()).to.equal(false)
      loop.request()
      expect(loop.isDue()).to.equal(true)
      await loop.work(signal)
      loop.request()
      passedMs += 4_000
      expect(loop.isDue()).to.equal(false)
      passedMs += 1_000
      expect(loop.isDue()).to.equal(true)
      await loop.work(signal)
      passedMs += HOUR_MS - 1_000
      expect(loop.isDue()).to.equal(false)
      passedMs += 1_000
      expect(loop.isDue()).to.equal(true)
    })

    it('is due again when it failed, and has what it knew', async () => {
      const { loop, swept } = makeLoop(HOUR_MS)
      await loop.work(signal)
      passedMs = 10_000
      loop.request()
      isFailing = true
      expect(await failureOf(loop.work(signal))).to.have.property('message', 'away')
      expect(loop.isDue()).to.equal(true)
      expect([...loop.namespaces()]).to.deep.equal(['found'])
      expect(swept).to.have.length(1)
    })

    it('keeps the namespaces that were added while it went on, and no others', async () => {
      const { loop, onSweep } = makeLoop(HOUR_MS)
      loop.addNamespace('before')
      expect([...loop.namespaces()]).to.deep.equal(['before'])
      onSweep(() => {
        loop.addNamespace('meanwhile')
      })
      await loop.work(signal)
      expect([...loop.namespaces()]).to.have.members(['found', 'meanwhile'])
    })

    it('takes nothing from a sweep that was ended early', async () => {
      const { loop, swept } = makeLoop(HOUR_MS)
      await loop.work(AbortSignal.abort())
      expect(swept).to.have.length(0)
      expect(loop.namespaces().size).to.equal(0)
      expect(loop.isDue()).to.equal(true)
    })
  })

  describe('that of credit', () => {
    const makeLoop = () => {
      const given: ('all' | string[])[] = []
      const loop = creditsLoop((only) => {
        given.push(only === undefined ? 'all' : [...only])
        return isFailing ? Promise.reject(new Error('away')) : Promise.resolve()
      }, HOUR_MS)
      return { loop, given }
    }

    it('gives to all at first and when its time has come, and to those who ask in between', async () => {
      const { loop, given } = makeLoop()
      loop.request('n1')
      expect(loop.isDue()).to.equal(true)
      await loop.work(signal)
      expect(loop.isDue()).to.equal(false)
      loop.request('n2')
      expect(loop.isDue()).to.equal(true)
      await loop.work(signal)
      expect(loop.isDue()).to.equal(false)
      passedMs = HOUR_MS
      expect(loop.isDue()).to.equal(true)
      await loop.work(signal)
      expect(given).to.deep.equal(['all', ['n2'], 'all'])
    })

    it('gives again to those who asked, or to all, when it failed', async () => {
      const { loop, given } = makeLoop()
      isFailing = true
      expect(await failureOf(loop.work(signal))).to.have.property('message', 'away')
      isFailing = false
      await loop.work(signal)
      isFailing = true
      loop.request('n1')
      expect(await failureOf(loop.work(signal))).to.have.property('message', 'away')
      loop.request('n2')
      isFailing = false
      await loop.work(signal)
      expect(given).to.deep.equal(['all', 'all', ['n1'], ['n1', 'n2']])
    })
  })

  it('warns of the first failure in a row alone, counts each, and ends with its signal', async () => {
    const levels: string[] = []
    const logged = (level: string) => (facts: unknown) => {
      expect(facts).to.have.property('step', 'sweep')
      levels.push(level)
    }
    const stopping = new AbortController()
    const outcomes = ['fails', 'fails', 'succeeds', 'not due', 'fails']
    let failures = 0
    const activity = new Activity('sweeping')
    await runLoop(
      {
        step: 'sweep',
        activity,
        isDue() {
          if (outcomes[0] !== 'not due') return true
          outcomes.shift()
          return false
        },
        work(given) {
          expect(given).to.equal(stopping.signal)
          const outcome = outcomes.shift()
          if (outcomes.length === 0) stopping.abort()
          return outcome === 'fails' ? Promise.reject(new Error('away')) : Promise.resolve()
        },
      },
      {
        checkMs: 1,
        metrics: { failed: () => failures++ },
        log: { warn: logged('warn'), debug: logged('debug') },
      },
      stopping.signal,
    )
    expect(levels).to.deep.equal(['warn', 'debug', 'warn'])
    expect(failures).to.equal(3)
    expect(activity.findTrouble(0)).to.have.property('activity', 'sweeping')
  })
})
