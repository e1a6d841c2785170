import { expect } from 'chai'
import { Confirmations } from '../../../services/operator/audit/confirmations.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { makeReport } from '../../support/usage-event.ts'
import { whileMeasuring } from './while-measuring.ts'

describe('what the audit remembers', function () {
  this.timeout(30_000)

  it('is bounded: a log whose seconds never end is an error, and no end of memory', async () => {
    const confirmations = new Confirmations(0)
    const { result, heapMb } = await whileMeasuring(() => {
      const keys = Array.from({ length: 1_000 }, () => makeReport().id)
      for (let second = 1; second < 1e6; second++)
        for (const key of keys)
          try {
            confirmations.confirm(`a namespace ${second} ${key}`, second, 1n)
          } catch (err) {
            return Promise.resolve(err)
          }
      return Promise.resolve('no error')
    })
    expect(result).to.be.instanceOf(DomainError).with.property('message').that.contains('500000 events')
    expect(heapMb, 'MB of memory').to.be.below(250)
  })
})
