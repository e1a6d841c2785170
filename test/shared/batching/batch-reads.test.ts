import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { batchReads, batchReadsByGroup } from '../../../shared/batching/batch-reads.ts'

/** Batches that wait until they are released, each with its keys. */
function heldBatches() {
  const asked: { keys: readonly number[]; answer: () => void; fail: (err: Error) => void }[] = []
  const ask = (keys: readonly number[]) =>
    new Promise<string[]>((resolve, reject) => {
      asked.push({
        keys,
        answer: () => {
          resolve(keys.map((key) => `answer to ${key}`))
        },
        fail: reject,
      })
    })
  return { asked, ask, keysOf: () => asked.map(({ keys }) => keys) }
}

const BATCHING = { atMost: 100, atOnce: 1, slowAfterMs: 10_000 }
const turnsOf = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise(setImmediate)
}

describe('reads that share batches', () => {
  it('are asked at once when no batch is under way, with what arrives in the same turn, each once', async () => {
    const { asked, ask, keysOf } = heldBatches()
    const read = batchReads(String, ask, BATCHING)
    const answers = Promise.all([read(1), read(2), read(1)])
    await turnsOf(2)
    expect(keysOf()).to.deep.equal([[1, 2]])
    asked[0]?.answer()
    expect(await answers).to.deep.equal(['answer to 1', 'answer to 2', 'answer to 1'])
  })

  it('that arrive while a batch is under way are asked together in the next one, not in this', async () => {
    const { asked, ask, keysOf } = heldBatches()
    const read = batchReads(String, ask, BATCHING)
    const first = read(1)
    await turnsOf(2)
    const others = [read(1)]
    await turnsOf(2)
    others.push(read(2), read(3))
    await turnsOf(2)
    expect(keysOf()).to.deep.equal([[1]])
    asked[0]?.answer()
    expect(await first).to.equal('answer to 1')
    await turnsOf(2)
    expect(keysOf()).to.deep.equal([[1], [1, 2, 3]])
    asked[1]?.answer()
    expect(await Promise.all(others)).to.deep.equal(['answer to 1', 'answer to 2', 'answer to 3'])
  })

  it('are no more than so many in a batch, and so many batches at a time', async () => {
    const { asked, ask, keysOf } = heldBatches()
    const read = batchReads(String, ask, { ...BATCHING, atMost: 2, atOnce: 2 })
    const answers = Promise.all([1, 2, 3, 4, 5].map(read))
    await turnsOf(2)
    expect(keysOf()).to.deep.equal([
      [1, 2],
      [3, 4],
    ])
    asked[1]?.answer()
    await turnsOf(2)
    expect(keysOf()).to.deep.equal([[1, 2], [3, 4], [5]])
    for (const { answer } of asked) answer()
    expect(await answers).to.have.length(5)
  })

  it('fail with their own batch alone', async () => {
    const { asked, ask } = heldBatches()
    const read = batchReads(String, ask, BATCHING)
    const first = read(1).catch((err: unknown) => String(err))
    await turnsOf(2)
    const second = read(2)
    asked[0]?.fail(new Error('the server is away'))
    expect(await first).to.equal('Error: the server is away')
    await turnsOf(2)
    asked[1]?.answer()
    expect(await second).to.equal('answer to 2')
  })

  it('do not wait for a slow batch for longer than they have to, nor does who comes later', async () => {
    const { asked, ask, keysOf } = heldBatches()
    const read = batchReads(String, ask, { ...BATCHING, slowAfterMs: 200 })
    const slow = read(1)
    await turnsOf(2)
    const [startedAt, others] = [performance.now(), [read(2), read(3)]]
    while (asked.length < 2) await sleep(1)
    expect(performance.now() - startedAt).to.be.within(150, 5_000)
    expect(keysOf()).to.deep.equal([[1], [2, 3]])
    asked[1]?.answer()
    expect(await Promise.all(others)).to.deep.equal(['answer to 2', 'answer to 3'])
    // The slow batch no longer holds its turn, so these reads need not wait.
    for (const key of [4, 5]) {
      const later = read(key)
      await turnsOf(2)
      expect(asked.at(-1)?.keys).to.deep.equal([key])
      asked.at(-1)?.answer()
      expect(await later).to.equal(`answer to ${key}`)
    }
    asked[0]?.answer()
    expect(await slow).to.equal('answer to 1')
    // The slow batch does not release its turn twice.
    const last = read(6)
    await turnsOf(2)
    const behind = read(7)
    await turnsOf(2)
    expect(keysOf().slice(4)).to.deep.equal([[6]])
    asked.at(-1)?.answer()
    expect(await last).to.equal('answer to 6')
    while (asked.length < 6) await sleep(1)
    asked.at(-1)?.answer()
    expect(await behind).to.equal('answer to 7')
  })

  it('of one group have nothing to do with those of another', async () => {
    const { asked, ask, keysOf } = heldBatches()
    const read = batchReadsByGroup((key: number) => String(key % 2), String, ask, BATCHING)
    const [odd, even] = [read(1), read(2)]
    await turnsOf(2)
    const [more, others] = [read(3), read(4)]
    await turnsOf(2)
    expect(keysOf()).to.deep.equal([[1], [2]])
    asked[1]?.answer()
    expect(await even).to.equal('answer to 2')
    await turnsOf(2)
    expect(keysOf()).to.deep.equal([[1], [2], [4]])
    asked[2]?.answer()
    expect(await others).to.equal('answer to 4')
    asked[0]?.fail(new Error('slow and then away'))
    expect(await odd.catch(String)).to.equal('Error: slow and then away')
    await turnsOf(2)
    asked[3]?.answer()
    expect(await more).to.equal('answer to 3')
  })

  it('get each its own answer, from a batch that was asked after the read came, whatever meets', async () => {
    const seed = randomUUID()
    const random = seededRandom(seed)
    let isAsking = 0
    let most = { keys: 0, atOnce: 0 }
    const read = batchReads(
      ({ name }: { name: number }) => String(name),
      async (keys) => {
        const askedAt = performance.now()
        isAsking++
        most = { keys: Math.max(most.keys, keys.length), atOnce: Math.max(most.atOnce, isAsking) }
        await sleep(randomInteger(random, 4))
        isAsking--
        if (random() < 0.05) throw new Error('failed')
        return keys.map(({ name }) => ({ name, askedAt }))
      },
      { atMost: 20, atOnce: 2, slowAfterMs: 60_000 },
    )
    const tally = { answered: 0, failed: 0 }
    const caller = async () => {
      for (let n = 0; n < 30; n++) {
        const [name, cameAt] = [randomInteger(random, 50), performance.now()]
        try {
          const answer = await read({ name })
          expect(answer.name, `seed ${seed}`).to.equal(name)
          expect(answer.askedAt, `seed ${seed}`).to.be.at.least(cameAt)
          tally.answered++
        } catch (err) {
          if (!(err instanceof Error) || err.message !== 'failed') throw err
          tally.failed++
        }
        if (random() < 0.5) await sleep(randomInteger(random, 3))
      }
    }
    await Promise.all(Array.from({ length: 64 }, caller))
    expect(tally.answered + tally.failed).to.equal(64 * 30)
    expect(tally.answered).to.be.greaterThan(1_000)
    expect(most.keys).to.be.within(10, 20)
    expect(most.atOnce).to.equal(2)
  })
})
