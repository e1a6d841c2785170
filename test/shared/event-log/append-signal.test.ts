import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { AppendSignal } from '../../../shared/event-log/postgres/append-signal.ts'

const WAITS = 20_000

describe('the signal that something was appended', () => {
  it('keeps nothing of waits that ended by themselves', async () => {
    const signal = new AppendSignal()
    await waitOften(signal) // what the first run compiles and allocates does not count
    const before = heapBytes()
    await waitOften(signal)
    expect((heapBytes() - before) / WAITS, 'bytes a wait').to.be.lessThan(50)
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

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
