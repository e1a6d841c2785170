import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { type ContractBody, contractStage } from '../../support/contract-stage.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld } from '../../support/stored-world.ts'

const BEHIND_S = 7

describe('the time that changes of agreements bear', function () {
  this.timeout(60_000)
  let running: RunningApi
  before(async () => {
    running = await startApi('change_times')
  })
  after(() => running.stop())

  const second = () => Math.floor(Date.now() / 1_000)

  /** Runs work while the clock of this host, and so of the API, is behind the database's clock. */
  async function behind(work: () => Promise<void>): Promise<void> {
    const now = Date.now
    Date.now = () => now() - BEHIND_S * 1_000
    await work().finally(() => (Date.now = now))
  }

  it('is not behind the clock of the database, by which is told what was known when', async function () {
    if (running.inside === undefined) return this.skip()
    const { api, account } = await makeStoredWorld(running)
    const contract = await api.create<{ id: string }>('/v2/contracts', {
      ...{ account_id: account, currency: 'usd', cadence: 'day', starts_at: second() - 86_400 },
      lines: [{ minimum_amount: '1' }],
    })
    const before = second()
    await behind(async () => {
      const { cancellation, status } = await api.create<ContractBody>(`/v2/contracts/${contract.id}/cancel`, {
        mode: 'immediate',
      })
      expect(cancellation?.requested_at).to.be.at.least(before)
      expect(cancellation?.cancel_at).to.be.at.least(before)
      expect(status, 'as it is since').to.equal('canceled')
    })
  })

  it('is not before a contract ended that is to go on, by a clock that is behind', async function () {
    if (running.inside === undefined) return this.skip()
    const { api, account } = await makeStoredWorld(running)
    const ends = second() + 1
    const contract = await api.create<{ id: string }>('/v2/contracts', {
      ...{ account_id: account, currency: 'usd', cadence: 'day', starts_at: ends - 86_400, ends_at: ends },
      lines: [{ minimum_amount: '1' }],
    })
    while (second() <= ends) await sleep(100)
    await behind(async () => {
      const { status, text } = await api.patch(`/v2/contracts/${contract.id}`, { ends_at: null })
      expect(status, text).to.equal(409)
    })
  })

  it('of a card is not before somebody began to follow it, for whom the change waited', async function () {
    if (running.inside === undefined) return this.skip()
    const { api, namespaceId } = await makeStoredWorld(running)
    const stage = contractStage(api)
    const card = await stage.card()
    const rate = { price_id: await stage.price() }
    let released = 0
    // This takes the same lock as a contract that begins to follow the card.
    const { change } = await inNamespace(running.pool, namespaceId, async (db) => {
      await db.query('SELECT 1 FROM rate_cards WHERE rate_card_id = $1 FOR SHARE', [card])
      const asked = api.create<{ rates: { starts_at: number }[] }>(`/v2/rate-cards/${card}/changes`, {
        add: [rate],
      })
      await sleep(2_100)
      released = second()
      return { change: asked }
    })
    const { rates } = await change
    expect(Math.max(...rates.map(({ starts_at }) => starts_at))).to.be.at.least(released)
  })
})
