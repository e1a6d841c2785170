import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

/** Every free text of a body, with its largest number of characters. */
const FIELDS: Record<string, Record<string, number>> = {
  '/v2/customers': { name: 256, external_id: 256, payments_customer_id: 256 },
  '/v2/accounts': { name: 256, description: 2_048, external_id: 256 },
  '/v2/metrics': { name: 256, description: 2_048, measurement_units: 256, external_id: 256, event_type: 256 },
  '/v2/grants': { description: 2_048 },
  '/v2/products': { name: 256, description: 2_048, external_id: 256 },
  '/v2/prices': { description: 2_048 },
  '/v2/rate-cards': { name: 256, description: 2_048, external_id: 256 },
  '/v2/contracts': { name: 256, description: 2_048, external_id: 256 },
}
const CHANGEABLE = [
  '/v2/customers',
  '/v2/accounts',
  '/v2/metrics',
  '/v2/products',
  '/v2/prices',
  '/v2/rate-cards',
  '/v2/contracts',
]

/** Single characters of one to four bytes, which may combine with their neighbours on a screen. */
const CHARACTERS = ['x', 'ü', '山', '😀', '\u0301', '\u{1F3FD}', '\u200D']

describe('texts of resources', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let account: string
  let product: string

  before(async () => {
    // Why in one layout: only the API answers, from PostgreSQL, which is the same in the other.
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    product = (await api.create<{ id: string }>('/v2/products', { name: 'x' })).id
    account = (await api.create<{ id: string }>('/v2/accounts', { name: 'x' })).id
  })
  after(() => tally.end())

  const bodyOf = (path: string): object => {
    if (path === '/v2/grants') return { account_id: account, currency: 'usd', amount: '1', effective_at: 0 }
    if (path === '/v2/prices') return { product_id: product, currency: 'usd', model: 'flat', amount: '1' }
    if (path === '/v2/rate-cards') return { name: 'x', currency: 'usd' }
    if (path === '/v2/contracts') return { account_id: account, currency: 'usd', cadence: 'month' }
    return { name: 'x' }
  }

  for (const [path, fields] of Object.entries(FIELDS))
    for (const [field, max] of Object.entries(fields)) {
      it(`are counted in characters: ${field} of ${path} takes ${max}`, async () => {
        for (const character of CHARACTERS) {
          const [fits, long] = [character.repeat(max), character.repeat(max + 1)]
          const made = await api.post<{ id: string }>(path, { ...bodyOf(path), [field]: fits })
          expect(made.status, made.text).to.equal(200)
          expect(made.body).to.include({ [field]: fits })
          const refused = [await api.post(path, { ...bodyOf(path), [field]: long })]
          if (CHANGEABLE.includes(path)) {
            const target = `${path}/${made.body.id}`
            expect((await api.patch(target, { [field]: fits })).body).to.include({ [field]: fits })
            refused.push(await api.patch(target, { [field]: long }))
          }
          for (const answer of refused)
            expect([answer.status, answer.text]).to.deep.equal([
              400,
              `${field}: must NOT have more than ${max} characters`,
            ])
        }
      })

      it(`hold no NUL and no half of a character: ${field} of ${path}`, async () => {
        const { id } = await api.create<{ id: string }>(path, bodyOf(path))
        for (const [escape, text] of [
          ['\\u0000', `${field}: holds a NUL character`],
          ['\\ud83d', `${field}: holds half of a surrogate pair`],
          ['\\ude00', `${field}: holds half of a surrogate pair`],
        ] as const) {
          const raw = (body: object) => ({
            raw: JSON.stringify({ ...body, [field]: 'HERE' }).replace('HERE', `a${escape}b`),
          })
          const refused = [await api.post(path, undefined, raw(bodyOf(path)))]
          if (CHANGEABLE.includes(path)) refused.push(await api.patch(`${path}/${id}`, undefined, raw({})))
          for (const answer of refused) expect([answer.status, answer.text]).to.deep.equal([400, text])
        }
      })
    }

  it('are found by 256 characters of any width', async () => {
    for (const character of ['😀', '山']) {
      const externalId = `${character.repeat(255)}!`
      const text = encodeURIComponent(externalId)
      await api.create('/v2/accounts', { name: 'x', external_id: externalId })
      await api.create('/v2/customers', { name: 'x', external_id: externalId })
      await api.create('/v2/metrics', { name: 'x', external_id: externalId })
      for (const kind of ['accounts', 'metrics'])
        expect((await api.get(`/v2/${kind}/external-id/${text}`)).status, kind).to.equal(200)
      expect(
        (await api.get<{ data: object[] }>(`/v2/customers?external_id=${text}`)).body.data.length,
      ).to.equal(1)
      for (const target of [`/v2/accounts/external-id/${text}x`, `/v2/customers?external_id=${text}x`])
        expect((await api.get(target)).text).to.match(/^external_id: must NOT have more than 256/)
    }
    for (const target of ['/v2/accounts/external-id/a%00', '/v2/customers?external_id=a%00'])
      expect((await api.get(target)).text).to.match(/holds a NUL/)
  })

  it('may be the longest that there are to sort by', async () => {
    // A character of four bytes that becomes three characters of four bytes in the normalized form of names.
    const notes = [
      0x1d15e, 0x1d15f, 0x1d160, 0x1d161, 0x1d162, 0x1d163, 0x1d164, 0x1d1bb, 0x1d1bc, 0x1d1bd, 0x1d1be,
    ]
    const random = (from: () => number) => String.fromCodePoint(...Array.from({ length: 256 }, from))
    for (const from of [
      () => notes[Math.floor(Math.random() * notes.length)] ?? 0,
      () => 0x20000 + Math.floor(Math.random() * 0xa000),
      () => 0x130, // İ, which is two characters in lower case
    ]) {
      const customer = await api.create<{ id: string }>('/v2/customers', { name: random(from) })
      const body = { name: random(from), service_customer_id: customer.id }
      expect((await api.post('/v2/accounts', body)).status).to.equal(200)
      expect((await api.patch(`/v2/customers/${customer.id}`, { name: random(from) })).status).to.equal(200)
    }
  })
})
