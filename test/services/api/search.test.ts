import { expect } from 'chai'
import fc from 'fast-check'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Named {
  id: string
  name: string
  external_id?: string
  service_customer_id?: string
  archived_at?: number | null
}

interface Page {
  data: Named[]
  has_more: boolean
}

/** Texts that a pattern, a quoted text or a change of case would treat in a special way. */
const PIECES = [
  ...[
    '%',
    '_',
    '\\',
    "'",
    '"',
    '\\%',
    "''",
    '\u{1f3c1}',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '\n',
    '\uffff',
  ],
  ...['Straße', 'STRASSE', 'ÄRGER', 'ärger', 'A\u0308rger', 'İstanbul', 'ISPARTA', 'ısparta', 'istanbul'],
  ...['ΟΔΟΣ', 'οδος', 'οδοσ', 'Σίσυφος', 'ΣΊΣΥΦΟΣ', 'acme', 'ACME', ' ', 'null', '0', '1'],
]
const text = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 })
  .map((pieces) => pieces.join(''))
  .filter((joined) => joined.trim() !== '' && joined !== '.' && joined !== '..')

describe('the search for accounts and customers', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let accounts: Named[] = []
  let customers: Named[] = []

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    const names = fc.sample(fc.tuple(text, text), { numRuns: 40, seed: 41 })
    for (const [n, [name, other]] of names.entries()) {
      if (n % 4 === 0)
        await api.create('/v2/customers', { name, ...(n % 8 === 0 ? { external_id: `${other}${n}` } : {}) })
      const owner = n % 3 === 0 ? {} : { service_customer_id: (await listAll('/v2/customers')).at(-1)?.id }
      await api.create('/v2/accounts', {
        name: other,
        ...(n % 2 === 0 ? { external_id: `${name}${n}` } : {}),
        ...owner,
      })
    }
    await reload()
    for (const { id } of accounts.slice(0, 5)) await api.post(`/v2/accounts/${id}/archive`, undefined)
    await reload()
  })
  after(() => tally.end())

  const reload = async () => {
    ;[accounts, customers] = [await listAll('/v2/accounts'), await listAll('/v2/customers')]
  }

  async function listAll(target: string, limit = 100): Promise<Named[]> {
    const all: Named[] = []
    for (let hasMore = true; hasMore;) {
      const after = all.length === 0 ? '' : `&starting_after=${all.at(-1)?.id ?? ''}`
      const answer = await api.get<Page>(`${target}${target.includes('?') ? '&' : '?'}limit=${limit}${after}`)
      expect(answer.status, answer.text).to.equal(200)
      all.push(...answer.body.data)
      hasMore = answer.body.has_more
    }
    return all
  }

  const idsOf = (some: readonly Named[]): string[] => some.map(({ id }) => id)

  /** The accounts that have a text in their name, their external id or their customer's name, without case. */
  function accountsWith(query: string): Named[] {
    const names = new Map(customers.map(({ id, name }) => [id, name]))
    return accounts.filter(({ name, external_id: externalId, service_customer_id: owner }) =>
      [name, externalId, owner === undefined ? undefined : names.get(owner)].some((one) => has(one, query)),
    )
  }

  async function expectFound(query: string): Promise<number> {
    const found = await listAll(`/v2/accounts?query=${encodeURIComponent(query)}`)
    expect(idsOf(found), JSON.stringify(query)).to.deep.equal(idsOf(accountsWith(query)))
    const owners = await listAll(`/v2/customers?query=${encodeURIComponent(query)}`)
    const expected = customers.filter((one) => has(one.name, query) || has(one.external_id, query))
    expect(idsOf(owners), JSON.stringify(query)).to.deep.equal(idsOf(expected))
    return found.length + owners.length
  }

  it('finds what has the text in a name or an external id, whatever the text and its case', async () => {
    let found = 0
    for (const query of PIECES.filter((piece) => piece !== '\n' && piece !== '\uffff'))
      found += await expectFound(query)
    expect(found).to.be.greaterThan(100)
    await fc.assert(
      fc.asyncProperty(text, async (query) => {
        await expectFound(query.replaceAll('\n', '').replaceAll('\uffff', '') || 'x')
      }),
      { numRuns: 40 },
    )
  })

  it('finds upper and lower case of German, Greek and Turkish letters', async () => {
    const pairs = [
      ['Große Straße', 'GROSSE STRASSE'],
      ['ΟΔΟΣ ΑΒΓ', 'οδος αβγ'],
      ['ΟΔΟΣΑΒΓ', 'οδος'],
      ['İSTANBUL Işık', 'istanbul ışık'],
      ['istanbul IŞIK', 'İSTANBUL ışık'],
      ['Ärger', 'A\u0308RGER'],
    ] as const
    for (const [name, query] of pairs) {
      const { id } = await api.create<Named>('/v2/accounts', { name })
      expect(idsOf(await listAll(`/v2/accounts?query=${encodeURIComponent(query)}`)), query).to.include(id)
    }
    await reload()
  })

  it('takes 256 characters, and refuses none, more, and text that cannot be stored', async () => {
    const longest = '\u{1f3c1}'.repeat(256)
    const { id } = await api.create<Named>('/v2/accounts', { name: longest })
    await reload()
    expect(idsOf(await listAll(`/v2/accounts?query=${encodeURIComponent(longest)}`))).to.deep.equal([id])
    for (const target of ['/v2/accounts', '/v2/customers'])
      for (const query of ['query=', `query=${'x'.repeat(257)}`, 'query=%00', 'query=a&query=b']) {
        const answer = await api.get(`${target}?${query}`)
        expect(answer.status, `${target} ${query}`).to.equal(400)
      }
  })

  it('follows new names and external ids, of the account and of its customer', async () => {
    const customer = await api.create<Named>('/v2/customers', { name: 'Before', external_id: 'crm-old' })
    const other = await api.create<Named>('/v2/customers', { name: 'Somebody else' })
    const { id } = await api.create<Named>('/v2/accounts', {
      name: 'Their account',
      external_id: 'acc-old',
      service_customer_id: customer.id,
    })
    const isFound = async (query: string) =>
      (await listAll(`/v2/accounts?query=${query}`)).some((one) => one.id === id)
    const isCustomerFound = async (query: string) =>
      (await listAll(`/v2/customers?query=${query}`)).some((one) => one.id === customer.id)
    expect(await Promise.all(['BEFORE', 'ACC-OLD', 'their'].map(isFound))).to.deep.equal([true, true, true])

    await api.patch(`/v2/customers/${customer.id}`, { name: 'After', external_id: 'crm-new' })
    expect(await Promise.all(['before', 'after'].map(isFound))).to.deep.equal([false, true])
    expect(await Promise.all(['before', 'crm-old', 'after', 'CRM-new'].map(isCustomerFound))).to.deep.equal([
      false,
      false,
      true,
      true,
    ])
    await api.patch(`/v2/accounts/${id}`, { name: 'Renamed', external_id: 'acc-new' })
    expect(await Promise.all(['their', 'acc-old', 'RENAMED', 'acc-new', 'after'].map(isFound))).to.deep.equal(
      [false, false, true, true, true],
    )
    await api.patch(`/v2/accounts/${id}`, { service_customer_id: other.id, external_id: null })
    expect(await Promise.all(['after', 'acc-new', 'somebody'].map(isFound))).to.deep.equal([
      false,
      false,
      true,
    ])
    await api.patch(`/v2/accounts/${id}`, { service_customer_id: null })
    expect(await isFound('somebody')).to.equal(false)
    await reload()
  })

  it('goes with the other filters and both orders, on pages of any size', async () => {
    const owner = customers.find(
      ({ id }) => accounts.filter((one) => one.service_customer_id === id).length > 1,
    )
    const ofOwner = (one: Named) => one.service_customer_id === owner?.id
    const isArchived = ({ archived_at: at }: Named) => at !== null && at !== undefined
    const byName = await listAll('/v2/accounts?sort=customer_name')
    for (const limit of [1, 3, 100])
      for (const [sort, all] of [
        ['created_at', accounts],
        ['customer_name', byName],
      ] as const) {
        const list = async (query: string) =>
          idsOf(await listAll(`/v2/accounts?sort=${sort}&${query}`, limit))
        const found = new Set(idsOf(accountsWith('a')))
        const cases: [string, (one: Named) => boolean][] = [
          [`service_customer_id=${owner?.id ?? ''}`, ofOwner],
          [
            `service_customer_id=${(owner?.id ?? '').toUpperCase()}&is_archived=false`,
            (one) => ofOwner(one) && !isArchived(one),
          ],
          ['is_archived=true', isArchived],
          ['is_archived=false', (one) => !isArchived(one)],
          ['query=A', (one) => found.has(one.id)],
          ['query=A&is_archived=false', (one) => found.has(one.id) && !isArchived(one)],
          [`query=a&service_customer_id=${owner?.id ?? ''}`, (one) => found.has(one.id) && ofOwner(one)],
          [`service_customer_id=${'0'.repeat(8)}-0000-4000-8000-000000000000`, () => false],
        ]
        for (const [query, isListed] of cases)
          expect(await list(query), `${sort} ${query}`).to.deep.equal(idsOf(all.filter(isListed)))
      }
    const newest = await listAll('/v2/customers?query=A&order=newest', 2)
    expect(newest).to.deep.equal((await listAll('/v2/customers?query=a')).toReversed())
    for (const query of [
      'is_archived=1',
      'is_archived=',
      'is_archived=yes',
      'service_customer_id=x',
      'order=newest',
    ])
      expect((await api.get(`/v2/accounts?${query}`)).status, query).to.equal(400)
  })

  it('finds nothing of another company', async () => {
    const before = await listAll('/v2/accounts?query=acme')
    expect(before.length).to.be.greaterThan(0)
    const theirs = new ApiClient(tally.url, tally.testKey)
    expect((await theirs.get<Page>('/v2/accounts?query=acme')).body).to.deep.equal({
      data: [],
      has_more: false,
    })
  })
})

/** Whether a text contains another one, letter by letter without case. */
const has = (whole: string | undefined, part: string): boolean =>
  whole !== undefined && folded(whole).includes(folded(part))

const folded = (one: string): string => {
  const upper = Array.from(one.normalize('NFC'), (letter) => letter.toUpperCase()).join('')
  return Array.from(upper, (letter) => letter.toLowerCase())
    .join('')
    .replaceAll('i\u0307', 'i')
}
