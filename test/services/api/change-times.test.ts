import { expect } from 'chai'
import type { ContractBody } from '../../support/contract-stage.ts'
import { startApi, type RunningApi } from '../../support/start-api.ts'
import { makeStoredWorld } from '../../support/stored-world.ts'

const BEHIND_S = 7

describe('the time that changes of agreements bear', function () {
  this.timeout(60_000)
  let running: RunningApi
  before(async () => {
    running = await startApi('change_times')
  })
  after(() => running.stop())

  it('is not behind the clock of the database, by which is told what was known when', async function () {
    if (running.inside === undefined) return this.skip()
    const { api, account } = await makeStoredWorld(running)
    const second = () => Math.floor(Date.now() / 1_000)
    const contract = await api.create<{ id: string }>('/v2/contracts', {
      ...{ account_id: account, currency: 'usd', cadence: 'day', starts_at: second() - 86_400 },
      lines: [{ minimum_amount: '1' }],
    })
    const before = second()
    const now = Date.now
    Date.now = () => now() - BEHIND_S * 1_000
    try {
      const { cancellation } = await api.create<ContractBody>(`/v2/contracts/${contract.id}/cancel`, {
        mode: 'immediate',
      })
      expect(cancellation?.requested_at).to.be.at.least(before)
      expect(cancellation?.cancel_at).to.be.at.least(before)
    } finally {
      Date.now = now
    }
  })
})
