import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { type ContractBody, contractStage } from '../../support/contract-stage.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

const DAY_S = 86_400

describe('the life of a contract', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let stage: ReturnType<typeof contractStage>
  /** Noon of a future day, by the company's clock. */
  let noon: number

  before(async () => {
    // Why in one layout: only the API answers, from PostgreSQL, which is the same in the other.
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.testKey)
    stage = contractStage(api)
  })
  beforeEach(async () => {
    await api.create('/v2/test/reset', {})
    noon = (Math.floor(Date.now() / 1_000 / DAY_S) + 10) * DAY_S + DAY_S / 2
    await showAt(noon)
  })
  after(() => tally.end())

  const showAt = async (now: number) => {
    const answer = await api.request('PUT', '/v2/test/clock', { now }, {})
    expect(answer.status, answer.text).to.equal(200)
  }
  const returnClock = () => api.request('DELETE', '/v2/test/clock', undefined, {})
  const get = async ({ id }: { id: string }) => (await api.get<ContractBody>(`/v2/contracts/${id}`)).body
  const act = ({ id }: { id: string }, verb: string, body: object = {}) =>
    api.post<ContractBody>(`/v2/contracts/${id}/${verb}`, body)
  const patch = ({ id }: { id: string }, body: object) => api.patch<ContractBody>(`/v2/contracts/${id}`, body)
  /** Makes a contract with periods of a day, from midnight on. */
  const daily = (some: object = {}) =>
    stage.contract({ cadence: 'day', anchor_at: noon - DAY_S / 2, ...some })
  const inADay = () => noon + DAY_S

  /** Checks that a contract that is over cannot be changed. */
  const expectOver = async (contract: { id: string }, text: string) => {
    const before = await get(contract)
    for (const [verb, body] of [
      ['changes', {}],
      ['changes', { add: [{ minimum_amount: '1' }] }],
      ['uncancel', {}],
    ] as const) {
      const answer = await act(contract, verb, body)
      expect([answer.status, answer.text], verb).to.deep.equal([409, text])
    }
    for (const body of [{ name: 'x' }, { ends_at: noon + 9_999 * DAY_S }, {}]) {
      const answer = await patch(contract, body)
      expect([answer.status, answer.text]).to.deep.equal([409, text])
    }
    expect(await get(contract)).to.deep.equal(before)
  }

  it('begins, runs from period to period, and ends', async () => {
    const contract = await daily({ starts_at: noon + 600, ends_at: inADay() + 300 })
    expect(contract).to.include({ status: 'scheduled', current_period: null })
    await showAt(noon + 600)
    const [midnight, next] = [noon - DAY_S / 2, noon + DAY_S / 2]
    expect(await get(contract)).to.deep.include({
      status: 'active',
      current_period: {
        start_at: noon + 600,
        end_at: next,
        full_start_at: midnight,
        full_end_at: next,
      },
    })
    await showAt(next)
    expect((await get(contract)).current_period).to.deep.equal({
      start_at: next,
      end_at: inADay() + 300,
      full_start_at: next,
      full_end_at: next + DAY_S,
    })
    await showAt(inADay() + 300)
    expect(await get(contract)).to.include({ status: 'ended', current_period: null, cancellation: null })
    await expectOver(contract, 'the contract has ended')
    for (const body of [{ mode: 'immediate' }, { mode: 'period_end' }, { mode: 'at', cancel_at: noon }]) {
      const answer = await act(contract, 'cancel', body)
      expect([answer.status, answer.text]).to.deep.equal([409, 'the contract has ended'])
    }
    // With an earlier clock the contract is active again, because the status follows from times.
    await returnClock()
    expect((await get(contract)).status).to.equal('scheduled')
  })

  it('shows the lines that are not ended, as time goes on', async () => {
    const line = (description: string, starts: number, ends?: number) => ({
      description,
      credit: { amount: '1', currency: 'usd' },
      starts_at: starts,
      ...(ends !== undefined && { ends_at: ends }),
    })
    const contract = await daily({
      starts_at: noon,
      lines: [line('a', noon, noon + 600), line('b', noon), line('c', noon + 600, noon + 1_200)],
    })
    const shown = async () => (await get(contract)).lines.map(({ description }) => description).join('')
    expect(await shown()).to.equal('abc')
    await showAt(noon + 600)
    expect(await shown()).to.equal('bc')
    await showAt(noon + 1_200)
    expect(await shown()).to.equal('b')
    const { body } = await api.get<{ data: unknown[] }>(`/v2/contracts/${contract.id}/lines`)
    expect(body.data.length).to.equal(3)
  })

  it('ends at once when it is canceled so, and the first cancellation stands', async () => {
    const contract = await daily({ starts_at: noon - DAY_S, lines: [{ minimum_amount: '1' }] })
    const { body: canceled } = await act(contract, 'cancel', { mode: 'immediate', reason: 'first' })
    const at = canceled.cancellation?.cancel_at ?? 0
    expect(at).to.be.within(noon, noon + 30)
    expect(canceled).to.deep.include({
      status: 'canceled',
      cancellation: { cancel_at: at, mode: 'immediate', reason: 'first', requested_at: at },
      current_period: null,
      ends_at: null,
    })
    expect(canceled.lines.length).to.equal(1)
    for (const body of [{ mode: 'immediate', reason: 'second' }, { mode: 'period_end' }]) {
      const again = await act(contract, 'cancel', body)
      expect([again.status, again.body]).to.deep.equal([200, canceled])
    }
    await expectOver(contract, 'the contract is canceled')
  })

  it('ends with its period when it is canceled so, unless that is taken back or replaced', async () => {
    const contract = await daily({ starts_at: noon - 600 })
    const midnight = noon + DAY_S / 2
    const { body: pending } = await act(contract, 'cancel', { mode: 'period_end' })
    expect(pending.cancellation).to.deep.equal({
      cancel_at: midnight,
      mode: 'period_end',
      requested_at: pending.cancellation?.requested_at,
    })
    expect(pending.status).to.equal('active')
    const back = await act(contract, 'uncancel')
    expect(back.body).to.deep.include({ status: 'active', cancellation: null })
    const same = await act(contract, 'uncancel')
    expect([same.status, same.body]).to.deep.equal([200, back.body])
    await act(contract, 'cancel', { mode: 'at', cancel_at: midnight + 9 })
    const replaced = await act(contract, 'cancel', { mode: 'at', cancel_at: midnight - 9, reason: 'r' })
    expect(replaced.body.cancellation).to.include({ cancel_at: midnight - 9, mode: 'at', reason: 'r' })
    expect(replaced.body.current_period?.end_at).to.equal(midnight - 9)
    await showAt(midnight - 9)
    expect((await get(contract)).status).to.equal('canceled')
    await expectOver(contract, 'the contract is canceled')
  })

  it('is canceled from now to its end', async () => {
    const contract = await daily({ starts_at: noon - 600, ends_at: inADay() })
    const cancel = (cancel_at: number) => act(contract, 'cancel', { mode: 'at', cancel_at })
    const [past, late] = [await cancel(noon - 1), await cancel(inADay() + 1)]
    expect([past.status, past.text]).to.deep.equal([422, 'cancel_at: lies in the past'])
    expect([late.status, late.text]).to.deep.equal([422, 'cancel_at: lies after the end of the contract'])
    expect((await get(contract)).cancellation).to.equal(null)
    expect((await cancel(inADay())).body.cancellation?.cancel_at).to.equal(inADay())
    expect((await act(contract, 'cancel', { mode: 'period_end' })).body.cancellation?.cancel_at).to.equal(
      noon + DAY_S / 2,
    )
    const later = await patch(contract, { ends_at: null })
    expect(later.body).to.deep.include({ ends_at: null, status: 'active' })
    expect(later.body.cancellation?.cancel_at).to.equal(noon + DAY_S / 2)
  })

  it('never begins when it is canceled before it does', async () => {
    const scheduled = () => daily({ starts_at: inADay(), lines: [{ minimum_amount: '1' }] })
    const at_once = await act(await scheduled(), 'cancel', { mode: 'immediate' })
    expect(at_once.body).to.include({ status: 'canceled', current_period: null })
    const first = await act(await scheduled(), 'cancel', { mode: 'period_end' })
    expect(first.body.status).to.equal('scheduled')
    expect(first.body.cancellation?.cancel_at).to.equal(inADay() + DAY_S / 2)
    const earlier = await act(first.body, 'cancel', { mode: 'at', cancel_at: inADay() - 60 })
    expect(earlier.body.status).to.equal('scheduled')
    await showAt(inADay() - 60)
    expect((await get(first.body)).status).to.equal('canceled')
    await showAt(inADay() + 60)
    expect(await get(first.body)).to.include({ status: 'canceled', current_period: null })
  })

  it('changes in its namespace’s time, not in ours', async () => {
    const contract = await daily({ starts_at: noon, lines: [{ minimum_amount: '1' }] })
    const real = Math.floor(Date.now() / 1_000)
    const early = await act(contract, 'changes', { effective_at: real + 60 })
    expect([early.status, early.text]).to.deep.equal([422, 'effective_at: lies in the past'])
    await showAt(noon + 100)
    const { body } = await act(contract, 'changes', { end: [contract.lines[0]?.id] })
    expect(body.lines).to.deep.equal([])
    const lines = await api.get<{ data: { ends_at: number }[] }>(`/v2/contracts/${contract.id}/lines`)
    expect(lines.body.data[0]?.ends_at).to.be.within(noon + 100, noon + 130)
  })

  it('gives the account’s card free from its cancellation on, and gets it back while nobody has it', async () => {
    const rate_card_id = await stage.card()
    const lines = [{ rate_card_id }]
    const first = await daily({ starts_at: noon - 600, lines })
    const { account_id } = first
    const taken = await api.post('/v2/contracts', { ...stage.basics(account_id), lines })
    expect(taken.status, taken.text).to.equal(409)
    const midnight = noon + DAY_S / 2
    await act(first, 'cancel', { mode: 'period_end' })
    const second = await daily({ account_id, starts_at: midnight, lines })
    const text = 'the account already follows a rate card at that time, and can follow only one at a time'
    const back = await act(first, 'uncancel')
    expect([back.status, back.text]).to.deep.equal([409, text])
    const later = await act(first, 'cancel', { mode: 'at', cancel_at: midnight + 1 })
    expect([later.status, later.text]).to.deep.equal([409, text])
    expect((await get(first)).cancellation?.cancel_at).to.equal(midnight)
    // A line that would begin only after the cancellation does not prevent another contract from following a card.
    const extra = await act(first, 'changes', { effective_at: midnight + 60, end: [first.lines[0]?.id] })
    expect(extra.status, extra.text).to.equal(200)
    const own = await act(first, 'changes', { effective_at: midnight + 60, add: lines })
    expect(own.status, own.text).to.equal(200)
    // The other contract prevents the undo of the cancellation until it has ended.
    expect((await act(first, 'uncancel')).status).to.equal(409)
    await act(second, 'cancel', { mode: 'immediate' })
    expect((await act(first, 'uncancel')).body).to.deep.include({ cancellation: null, status: 'active' })
    await showAt(midnight)
    expect((await get(first)).lines.map(({ ends_at }) => ends_at)).to.deep.equal([midnight + 60, null])
  })

  it('goes with a reset of the company, which can begin anew at once', async () => {
    const metric = await stage.metric()
    const product_id = await stage.product()
    const own = await stage.price({ model: 'per_unit', unit_amount: '1', product_id })
    const rates = [{ metric_id: metric, price_id: own }]
    const contract = await daily({
      external_id: 'c-1',
      lines: [
        { rate_card_id: await stage.card({ rates }), price_overrides: [{ product_id, price_id: own }] },
        { price_id: own },
        { credit: { amount: '1', metric_id: metric } },
      ],
    })
    await api.create('/v2/test/reset', {})
    expect((await api.get(`/v2/contracts/${contract.id}`)).status).to.equal(404)
    expect((await api.get('/v2/contracts')).body).to.deep.equal({ data: [], has_more: false })
    await daily({ external_id: 'c-1' })
  })
})
