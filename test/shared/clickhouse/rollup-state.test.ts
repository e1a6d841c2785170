import { setImmediate as turnCome, setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { queryTurns } from '../../../shared/clickhouse/query-turns.ts'
import { rollupStateReader } from '../../../shared/clickhouse/rollups/rollup-state.ts'

describe('the epoch a process goes by', () => {
  /** A ClickHouse whose answers the test gives, in any order. */
  function answeredByHand() {
    const answers: ((epoch: number) => void)[] = []
    const failures: (() => void)[] = []
    const query = () =>
      new Promise((resolve, reject) => {
        failures.push(() => {
          reject(new Error('failed'))
        })
        answers.push((epoch) => {
          const row = { epoch, closed_through: 300, slot_s: 300, now: 600 }
          resolve({ json: () => Promise.resolve([row]) })
        })
      })
    const turns = { mine: queryTurns(4).short }
    const reader = rollupStateReader({ query, turns } as unknown as ClickHouse)
    return { answers, failures, epoch: async () => (await reader.epoch())?.epoch }
  }

  /** A ClickHouse that has answered one query with epoch 1. */
  async function knownByHand() {
    const byHand = answeredByHand()
    const first = byHand.epoch()
    await turnCome()
    byHand.answers[0]?.(1)
    expect(await first).to.equal(1)
    return byHand
  }

  it('is known for a second, and then asked for again', async () => {
    const { answers, epoch } = await knownByHand()
    await sleep(400)
    expect(await epoch()).to.equal(1)
    expect(answers, 'known').to.have.length(1)
    await sleep(700)
    const later = epoch()
    await turnCome()
    expect(answers).to.have.length(2)
    answers[1]?.(2)
    expect(await later).to.equal(2)
  })

  it('is asked for again when the last answer failed', async () => {
    const { failures, answers, epoch } = await knownByHand()
    await sleep(1_100)
    const failing = epoch()
    await turnCome()
    failures[1]?.()
    expect(await failing.catch(() => 'failed')).to.equal('failed')
    const later = epoch()
    await turnCome()
    answers[2]?.(2)
    expect(await later).to.equal(2)
  })

  it('is the newer one of two that were asked for, whichever is answered last', async () => {
    const { answers, epoch } = answeredByHand()
    const older = epoch()
    await sleep(20)
    const newer = epoch()
    await turnCome()
    answers[1]?.(3)
    expect(await newer).to.equal(3)
    answers[0]?.(2)
    await older
    expect(await epoch(), 'what was asked for before is older').to.equal(3)
  })
})
