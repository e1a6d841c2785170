import { expect } from 'chai'
import { WorkQueue, type WorkQueueOptions } from '../../../shared/batching/work-queue.ts'
import { failureOf } from '../../support/failure-of.ts'

describe('a work queue', () => {
  const queueOf = (options: Partial<WorkQueueOptions> = {}) =>
    new WorkQueue({
      atOnce: 1,
      waitingMax: 100,
      waitMs: 10_000,
      turnedAway: (reason) => new Error(reason),
      ...options,
    })
  /** Work that goes on until it is ended. */
  function held(queue: WorkQueue, asker?: string) {
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    return { done: queue.run(() => ended, asker === undefined ? {} : { asker }), end }
  }

  it('gives places to askers in turn, and to those of one in the order they came', async () => {
    const queue = queueOf()
    const first = held(queue, 'a')
    const order: string[] = []
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) =>
      queue.run(
        () => {
          order.push(name)
          return Promise.resolve()
        },
        { asker: name.charAt(0) },
      ),
    )
    first.end()
    await Promise.all([first.done, ...all])
    expect(order).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    expect(queue.atWork).to.equal(0)
  })

  it('gives a place to who has none before one who has some', async () => {
    const queue = queueOf({ atOnce: 2 })
    const [one, two] = [held(queue, 'a'), held(queue, 'a')]
    const [third, other] = [held(queue, 'a'), held(queue, 'b')]
    one.end()
    await one.done
    other.end()
    await other.done // though another of a had waited for longer
    two.end()
    third.end()
    await Promise.all([two.done, third.done])
    expect(queue.atWork).to.equal(0)
  })

  it('takes a place to wait from whoever has most of them, when all are taken', async () => {
    const queue = queueOf({ waitingMax: 3 })
    const first = held(queue)
    const busy = 'too many queries are waiting'
    const done: string[] = []
    const ask = (name: string) =>
      failureOf(
        queue.run(
          () => {
            done.push(name)
            return Promise.resolve()
          },
          { asker: name.charAt(0) },
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
    const queue = queueOf({ waitingMax: 5, waitingMaxOfOne: 3 })
    const first = held(queue)
    const ask = (asker: string) => failureOf(queue.run(() => Promise.resolve(), { asker }))
    const asked = ['a', 'a', 'a', 'a', 'b', 'b', 'b'].map(ask)
    first.end()
    const failures = await Promise.all(asked)
    const busy = 'too many queries are waiting'
    expect(failures.map((failure) => (failure as Error | undefined)?.message)).to.deep.equal([
      ...[undefined, undefined, undefined, busy],
      ...[undefined, undefined, busy],
    ])
  })

  it('keeps no place for who has gone, waited too long, or comes when it is closed', async () => {
    const queue = queueOf({ waitMs: 20 })
    const first = held(queue)
    const gone = new AbortController()
    const ofGone = failureOf(queue.run(() => Promise.resolve(), { signal: gone.signal }))
    const ofLate = failureOf(queue.run(() => Promise.resolve(), { asker: 'late' }))
    gone.abort()
    expect(await ofGone).to.have.property('message', 'the client has gone')
    expect(await ofLate).to.have.property('message', 'no place within 20 ms')
    const ofClosed = failureOf(queue.run(() => Promise.resolve()))
    queue.close()
    expect(await ofClosed).to.have.property('message', 'it is stopping')
    first.end()
    await first.done
    expect(queue.atWork).to.equal(0)
  })
})
