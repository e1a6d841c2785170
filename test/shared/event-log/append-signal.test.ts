import { expect } from 'chai'
import { AppendSignal } from '../../../shared/event-log/postgres/append-signal.ts'
import { memoryInUse } from '../../support/collect-garbage.ts'

const WAITS = 20_000

describe('the signal that something was appended', () => {
  it('keeps nothing of waits that ended by themselves', async () => {
    const signal = new AppendSignal()
    await waitOften(signal) // the first run compiles and allocates, so it does not count
    const before = memoryInUse().heapUsed
    await waitOften(signal)
    expect((memoryInUse().heapUsed - before) / WAITS, 'bytes a wait').to.be.lessThan(50)
  })

  it('wakes everyone who waits, and leaves no timer behind', async () => {
    const signal = new AppendSignal()
    await signal.wait(0) // mocha starts its own timer only now
    const timers = countTimers()
    const startedAt = performance.now()
    const waits = Promise.all([signal.wait(10_000), signal.wait(20_000)])
    signal.fire()
    await waits
    expect(performance.now() - startedAt).to.be.lessThan(1_000)
    expect(countTimers()).to.equal(timers)
  })
})

const waitOften = (signal: AppendSignal) =>
  Promise.all(Array.from({ length: WAITS }, (_, n) => signal.wait(n % 10)))

const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
