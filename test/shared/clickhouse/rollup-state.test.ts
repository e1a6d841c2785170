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
          const row = { epoch, closed_through: 300, slot_s: 300, slot_totals_through: 300, now: 600 }
          resolve({ json: () => Promise.resolve([row]) })
        })
      })
    const reader = rollupStateReader({ query } as unknown as ClickHouse)
    return { answers, epoch: async () => (await reader.epoch())?.epoch }
  }

  it('is asked for ahead, so that nobody who asks all the time waits for it', async () => {
    const { answers, epoch } = answeredByHand()
    const first = epoch()
    answers[0]?.(1)
    expect(await first).to.equal(1)
    expect(await epoch()).to.equal(1)
    expect(answers, 'known').to.have.length(1)
    await sleep(800)
    for (let times = 0; times < 3; times++) expect(await epoch(), 'meanwhile').to.equal(1)
    expect(answers).to.have.length(2)
    answers[1]?.(2)
    await sleep(0)
    expect(await epoch()).to.equal(2)
    await sleep(300)
    expect(await epoch(), 'a second after the first').to.equal(2)
    expect(answers).to.have.length(2)
  })

  it('is not known for longer than a second, whatever becomes of asking ahead', async () => {
    const { answers, epoch } = answeredByHand()
    const first = epoch()
    answers[0]?.(1)
    await first
    await sleep(800)
    await epoch()
    await sleep(300)
    const later = epoch()
    expect(answers).to.have.length(3)
    answers[2]?.(3)
    expect(await later).to.equal(3)
    answers[1]?.(2)
    await sleep(0)
    expect(await epoch(), 'what was asked for before is older').to.equal(3)
  })
})
