import { expect } from 'chai'
import { FairSemaphore, type FairSemaphoreOptions } from '../../../shared/batching/fair-semaphore.ts'
import { failureOf } from '../../support/failure-of.ts'

describe('a fair semaphore', () => {
  const semaphoreOf = (options: Partial<FairSemaphoreOptions> = {}) =>
    new FairSemaphore({
      atOnce: 1,
      waitingMax: 100,
      waitMs: 10_000,
      rejection: (reason) => new Error(reason),
      ...options,
    })
  /** Work that runs until the test ends it. */
  function held(semaphore: FairSemaphore, tenant?: string) {
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    return { done: semaphore.run(() => ended, tenant === undefined ? {} : { tenant }), end }
  }

  it('gives permits to tenants in turn, and to those of one in the order they came', async () => {
    const semaphore = semaphoreOf()
    const first = held(semaphore, 'a')
    const order: string[] = []
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) =>
      semaphore.run(
        () => {
          order.push(name)
          return Promise.resolve()
        },
        { tenant: name.charAt(0) },
      ),
    )
    first.end()
    await Promise.all([first.done, ...all])
    expect(order).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    expect(semaphore.atWork).to.equal(0)
  })

  it('gives a permit to who has none before one who has some', async () => {
    const semaphore = semaphoreOf({ atOnce: 2 })
    const [one, two] = [held(semaphore, 'a'), held(semaphore, 'a')]
    const [third, other] = [held(semaphore, 'a'), held(semaphore, 'b')]
    one.end()
    await one.done
    other.end()
    await other.done // although a request of a has waited longer
    two.end()
    third.end()
    await Promise.all([two.done, third.done])
    expect(semaphore.atWork).to.equal(0)
  })

  it('gives nobody more than one may have, also while permits are free', async () => {
    const semaphore = semaphoreOf({ atOnce: 4, atOnceOfOne: 2 })
    const ofA = Array.from({ length: 3 }, () => held(semaphore, 'a'))
    expect([semaphore.atWork, semaphore.queued]).to.deep.equal([2, 1])
    const ofB = [held(semaphore, 'b'), held(semaphore, 'b')]
    expect(semaphore.atWork).to.equal(4)
    const ofC = held(semaphore, 'c')
    ofA[0]?.end()
    await ofA[0]?.done
    ofC.end()
    await ofC.done // before the third request of a, which has a turn already
    for (const { end } of [...ofA, ...ofB]) end()
    await Promise.all([...ofA, ...ofB].map(({ done }) => done))
    expect([semaphore.atWork, semaphore.queued]).to.deep.equal([0, 0])
  })

  it('is a lock for each name', async () => {
    const locks = semaphoreOf({ atOnce: Infinity, atOnceOfOne: 1 })
    const order: string[] = []
    const lock = async (name: string, n: number) => {
      const release = await locks.acquire({ tenant: name })
      order.push(`${name}${n}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
      order.push(`${name}${n} ends`)
      release()
    }
    await Promise.all([lock('a', 1), lock('a', 2), lock('b', 1), lock('a', 3), lock('b', 2)])
    for (const name of ['a', 'b']) {
      const ofName = order.filter((step) => step.startsWith(name))
      expect(ofName).to.deep.equal(ofName.toSorted())
    }
    expect(order.slice(0, 2)).to.deep.equal(['a1', 'b1'])
  })

  it('takes a permit to wait from whoever has most of them, when all are taken', async () => {
    const semaphore = semaphoreOf({ waitingMax: 3 })
    const first = held(semaphore)
    const busy = 'too many queries are waiting'
    const done: string[] = []
    const ask = (name: string) =>
      failureOf(
        semaphore.run(
          () => {
            done.push(name)
            return Promise.resolve()
          },
          { tenant: name.charAt(0) },
        ),
      )
    const asked = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(ask)
    first.end()
    const failures = await Promise.all([first.done, ...asked])
    expect(failures.slice(1).map((failure) => (failure as Error | undefined)?.message)).to.deep.equal([
      ...[undefined, busy, busy],
      ...[undefined, busy],
      undefined,
    ])
    expect(done).to.deep.equal(['a1', 'b1', 'c1'])
  })

  it('turns one away who asks for too much, and not the others', async () => {
    const semaphore = semaphoreOf({ waitingMax: 5, waitingMaxOfOne: 3 })
    const first = held(semaphore)
    const ask = (tenant: string) => failureOf(semaphore.run(() => Promise.resolve(), { tenant }))
    const asked = ['a', 'a', 'a', 'a', 'b', 'b', 'b'].map(ask)
    first.end()
    const failures = await Promise.all(asked)
    const busy = 'too many queries are waiting'
    expect(failures.map((failure) => (failure as Error | undefined)?.message)).to.deep.equal([
      ...[undefined, undefined, undefined, busy],
      ...[undefined, undefined, busy],
    ])
  })

  it('keeps no permit for who has gone, waited too long, or comes when it is closed', async () => {
    const semaphore = semaphoreOf({ waitMs: 20 })
    const first = held(semaphore)
    const gone = new AbortController()
    const ofGone = failureOf(semaphore.run(() => Promise.resolve(), { signal: gone.signal }))
    const ofLate = failureOf(semaphore.run(() => Promise.resolve(), { tenant: 'late' }))
    gone.abort()
    expect(await ofGone).to.have.property('message', 'the client has gone')
    expect(await ofLate).to.have.property('message', 'no turn within 20 ms')
    const ofClosed = failureOf(semaphore.run(() => Promise.resolve()))
    semaphore.close()
    expect(await ofClosed).to.have.property('message', 'it is stopping')
    first.end()
    await first.done
    expect(semaphore.atWork).to.equal(0)
  })
})
