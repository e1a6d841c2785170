import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { rollupStateReader } from '../../../shared/clickhouse/rollups/rollup-state.ts'

describe('the epoch a process goes by', () => {
  /** A ClickHouse whose answers are given by hand, in any order. */
  function answeredByHand() {
    const answers: ((epoch: number) => void)[] = []
    const query = () =>
      new Promise((resolve) => {
        answers.push((epoch) => {
          const row = { epoch, closed_through: 300, slot_s: 300, now: 600 }
          resolve({ json: () => Promise.resolve([row]) })
        })
      })
    const reader = rollupStateReader({ query } as unknown as ClickHouse)
    return { answers, epoch: async () => (await reader.epoch())?.epoch }
  }

  it('is known for a second, and then asked for anew', async () => {
    const { answers, epoch } = answeredByHand()
    const first = epoch()
    answers[0]?.(1)
    expect(await first).to.equal(1)
    await sleep(800)
    expect(await epoch()).to.equal(1)
    expect(answers, 'known').to.have.length(1)
    await sleep(300)
    const later = epoch()
    expect(answers).to.have.length(2)
    answers[1]?.(2)
    expect(await later).to.equal(2)
  })

  it('is the newer one of two that were asked for, whichever is answered last', async () => {
    const { answers, epoch } = answeredByHand()
    const older = epoch()
    await sleep(20)
    const newer = epoch()
    answers[1]?.(3)
    expect(await newer).to.equal(3)
    answers[0]?.(2)
    await older
    expect(await epoch(), 'what was asked for before is older').to.equal(3)
  })
})
