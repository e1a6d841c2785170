import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { withinMs } from '../../../shared/time/within-ms.ts'

describe('what takes no longer than it may', () => {
  const outcome = (answer: Promise<string>) =>
    withinMs(50, answer, 'it took too long').catch((err: unknown) => (err as Error).message)

  it('gives its result, or fails as it does', async () => {
    expect(await outcome(Promise.resolve('an answer'))).to.equal('an answer')
    expect(await outcome(Promise.reject(new Error('no answer')))).to.equal('no answer')
  })

  it('fails when it takes longer, and is no fault when it fails after that', async () => {
    const late = sleep(100).then(() => {
      throw new Error('far too late')
    })
    expect(await outcome(late)).to.equal('it took too long')
    await sleep(100)
  })
})
