import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { type ContractBody, contractStage, type LineBody } from '../../support/contract-stage.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

const ROUNDS = 12

describe('contracts that are changed at the same time', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let stage: ReturnType<typeof contractStage>
  let cards: string[]

  before(async () => {
    // Why in one layout: only the API answers, from PostgreSQL, which is the same in the other.
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    stage = contractStage(api)
    cards = [await stage.card(), await stage.card()]
  })
  after(() => tally.end())

  const now = () => Math.floor(Date.now() / 1_000)
  const act = ({ id }: { id: string }, verb: string, body: object = {}) =>
    api.post<ContractBody>(`/v2/contracts/${id}/${verb}`, body)
  const get = async ({ id }: { id: string }) => (await api.get<ContractBody>(`/v2/contracts/${id}`)).body
  const linesOf = async ({ id }: { id: string }) =>
    (await api.get<{ data: LineBody[] }>(`/v2/contracts/${id}/lines`)).body.data
  const statusesOf = async (requests: Promise<{ status: number }>[]) =>
    (await Promise.all(requests)).map(({ status }) => status).sort()
  const trailOf = async (id: string) =>
    (await api.get<{ data: { action: string }[] }>(`/v2/audit-trail?resource_id=${id}`)).body.data

  it('claim the card of an account once: one is made, of the others nothing', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const account_id = await stage.account()
      // Some lines have no conflict, and their order differs each time, so that a wrong order of locks would deadlock.
      const lines = cards.map((rate_card_id, n) => ({
        rate_card_id,
        starts_at: now() + n * 100,
        ends_at: now() + n * 100 + 100,
      }))
      const body = (n: number) => ({
        ...stage.basics(account_id),
        starts_at: now() - 10,
        external_id: `${account_id} ${n}`,
        lines: [...(n % 2 === 0 ? lines : lines.toReversed()), { minimum_amount: '1' }],
      })
      const requests = [0, 1, 2, 3].map((n) => api.post<ContractBody>('/v2/contracts', body(n)))
      expect(await statusesOf(requests)).to.deep.equal([200, 409, 409, 409])
      const { body: page } = await api.get<{ data: ContractBody[] }>(`/v2/contracts?account_id=${account_id}`)
      expect(page.data.length).to.equal(1)
      const [made] = page.data
      expect(made && (await linesOf(made)).length).to.equal(3)
      expect((await trailOf(made?.id ?? '')).length).to.equal(1)
    }
  })

  it('claim it by a change once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const account_id = await stage.account()
      const [one, two] = [await stage.contract({ account_id }), await stage.contract({ account_id })]
      const add = cards.slice(0, 1).map((rate_card_id) => ({ rate_card_id }))
      const credit = { credit: { amount: '1', currency: 'usd' } }
      const requests = [one, two].map((contract) => act(contract, 'changes', { add: [credit, ...add] }))
      expect(await statusesOf(requests)).to.deep.equal([200, 409])
      const lines = [await linesOf(one), await linesOf(two)].map(({ length }) => length)
      expect(lines.sort()).to.deep.equal([0, 2])
    }
  })

  it('are ended or canceled, one after the other', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const contract = await stage.contract({ starts_at: now() - 100, lines: [{ minimum_amount: '1' }] })
      const [line] = contract.lines
      const change = act(contract, 'changes', { end: [line?.id], add: [{ minimum_amount: '2' }] })
      const cancel = act(contract, 'cancel', { mode: 'immediate' })
      const [changed, canceled] = await Promise.all([change, cancel])
      expect(canceled.status, canceled.text).to.equal(200)
      expect(changed.status, changed.text).to.be.oneOf([200, 409])
      const lines = await linesOf(contract)
      expect(lines.length).to.equal(changed.status === 200 ? 2 : 1)
      expect(lines[0]?.ends_at === null).to.equal(changed.status === 409)
      expect((await get(contract)).status).to.equal('canceled')
    }
  })

  it('end a line once, and put one in its place', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const contract = await stage.contract({ starts_at: now() - 100, lines: [{ minimum_amount: '1' }] })
      const replace = (minimum_amount: string) =>
        act(contract, 'changes', { end: [contract.lines[0]?.id], add: [{ minimum_amount }] })
      const statuses = await statusesOf(['2', '3', '4'].map(replace))
      expect(statuses).to.deep.equal([200, 422, 422])
      expect((await linesOf(contract)).length).to.equal(2)
    }
  })

  it('keep to 200 lines that are not ended', async () => {
    const credit = { credit: { amount: '1', currency: 'usd' } }
    const contract = await stage.contract({ lines: Array(190).fill(credit) })
    const add = Array(6).fill(credit)
    const statuses = await statusesOf([1, 2, 3].map(() => act(contract, 'changes', { add })))
    expect(statuses).to.deep.equal([200, 422, 422])
    expect((await get(contract)).lines.length).to.equal(196)
  })

  it('are canceled and taken back, as the last of them says', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const contract = await stage.contract()
      const cancel = () => act(contract, 'cancel', { mode: 'period_end' })
      const uncancel = () => act(contract, 'uncancel')
      expect(await statusesOf([cancel(), uncancel(), cancel(), uncancel()])).to.deep.equal([
        200, 200, 200, 200,
      ])
      const [last] = await trailOf(contract.id)
      expect((await get(contract)).cancellation === null).to.equal(last?.action === 'contract.uncanceled')
    }
  })

  it('get a card back or leave it to another, not both', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const lines = [{ rate_card_id: cards[0] }]
      const first = await stage.contract({ lines })
      const { body } = await act(first, 'cancel', { mode: 'period_end' })
      const other = {
        ...stage.basics(first.account_id),
        starts_at: body.cancellation?.cancel_at,
        lines: [{ rate_card_id: cards[1] }],
      }
      const requests = [act(first, 'uncancel'), api.post('/v2/contracts', other)]
      expect(await statusesOf(requests)).to.deep.equal([200, 409])
    }
  })

  it('are made or not when their account is archived meanwhile', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const account_id = await stage.account()
      const made = api.post('/v2/contracts', {
        ...stage.basics(account_id),
        lines: [{ rate_card_id: cards[0] }],
      })
      const archived = api.post(`/v2/accounts/${account_id}/archive`, undefined)
      expect((await archived).status).to.equal(200)
      expect((await made).status).to.be.oneOf([200, 422])
    }
  })

  it('and cards that are archived meanwhile do not wait for each other for ever', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const two = [await stage.card(), await stage.card()]
      const create = async (ids: string[]) =>
        api.post('/v2/contracts', {
          ...stage.basics(await stage.account()),
          starts_at: now(),
          lines: ids.map((rate_card_id, n) => ({
            rate_card_id,
            starts_at: now() + n * 60,
            ends_at: now() + n * 60 + 60,
          })),
        })
      const archive = (id: string) => api.post(`/v2/rate-cards/${id}/archive`, undefined)
      const answers = await Promise.all([create(two), create(two.toReversed()), ...two.map(archive)])
      for (const { status, text } of answers) expect(status, text).to.be.oneOf([200, 422])
    }
  })
})
