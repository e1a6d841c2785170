import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { ApiClient } from '../support/api-client.ts'
import { copyPrograms, requirePrograms, runIn } from '../support/programs.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'

const OPENAPI = path.join(PROJECT_ROOT, 'openapi.yaml')
const OAPI_CODEGEN_VERSION = '2.8.2'
const OAPI_CODEGEN = `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v${OAPI_CODEGEN_VERSION}`
/** Long, because the first run fetches packages over the network. */
const TIMEOUT_MS = 900_000
/** A time after 2038, which does not fit into 32 bits. */
const IN_2100 = 4_102_444_800
const MISSING = 'account_00000000000000000000000000000000'

/** The output of the programs in generated-clients/. */
interface Read {
  full: SchemaOf<'Account'>
  bare: SchemaOf<'Account'>
  /** The ids on each page of two accounts. */
  pages: string[][]
  grant: Pick<SchemaOf<'Grant'>, 'amount' | 'expires_at'>
  price: { model: string; unit_amount: string }
  missing: { status: number; text: string }
}

describe('clients that are generated from openapi.yaml', () => {
  let tally: TallyUnderTest
  let expected: Read
  /** The arguments of the programs: URL, key, and ids to read. */
  let words: string[]

  before(async function () {
    this.timeout(TIMEOUT_MS)
    tally = await shareTallyUnderTest()
    const api = new ApiClient(tally.url, tally.key)
    ;({ expected, words } = await makeAccounts(api, tally))
  })

  after(() => tally.end())

  it('read accounts in Java, by openapi-generator', async function () {
    this.timeout(TIMEOUT_MS)
    requirePrograms(this, 'REQUIRE_MAVEN', [
      ['mvn', '--version'],
      ['javac', '--version'],
    ])
    const folder = await copyPrograms('long/generated-clients/java')
    const goals = ['compile', 'dependency:copy-dependencies']
    await runIn(folder, 'mvn', ['-B', '-q', ...goals, '-DoutputDirectory=libs', `-Dopenapi=${OPENAPI}`])
    const printed = await runIn(folder, 'java', ['-cp', 'target/classes:libs/*', 'ReadAccounts', ...words])
    expect(JSON.parse(printed)).to.deep.equal(expected)
  })

  it('read accounts in Go, by oapi-codegen', async function () {
    this.timeout(TIMEOUT_MS)
    requirePrograms(this, 'REQUIRE_GO', [['go', 'version']])
    const folder = await copyPrograms('long/generated-clients/go')
    await mkdir(path.join(folder, 'tally'))
    await runIn(folder, 'go', ['run', OAPI_CODEGEN, '-config', 'oapi-codegen.yaml', OPENAPI])
    await runIn(folder, 'go', ['build', '-mod=readonly', '-o', 'read', '.'])
    const printed = await runIn(folder, './read', words)
    expect(JSON.parse(printed)).to.deep.equal(expected)
  })

  it('are in README.md, with the versions that were tried', async () => {
    const read = (file: string) => readFile(path.join(PROJECT_ROOT, file), 'utf8')
    const pom = await read('test/long/generated-clients/java/pom.xml')
    const [, version = ''] = /<artifactId>openapi-generator-maven-plugin<.*>\s+<version>(.+)</.exec(pom) ?? []
    const readme = (await read('README.md')).replaceAll(/\s+/g, ' ')
    expect(version).to.match(/^\d/)
    expect(readme).to.contain(`openapi-generator ${version} `)
    expect(readme).to.contain(`oapi-codegen ${OAPI_CODEGEN_VERSION} `)
  })
})

/** Makes the resources that the programs read. @returns the API's answers, and the arguments of the programs */
async function makeAccounts(
  api: ApiClient,
  { url, key }: TallyUnderTest,
): Promise<{ expected: Read; words: string[] }> {
  const make = (body: object) => api.create<SchemaOf<'Account'>>('/v2/accounts', body)
  const customer = await api.create<SchemaOf<'Customer'>>('/v2/customers', { name: 'Curie' })
  const { id: fullId } = await make({
    name: 'Åsa’s "account" 😀',
    external_id: 'asa/1',
    description: '<b>\n</b>',
    service_customer_id: customer.id,
  })
  await api.create(`/v2/accounts/${fullId}/archive`, {})
  const { id: bareId } = await make({ name: 'bare' })
  for (const name of ['third', 'fourth', 'fifth']) await make({ name })
  const grant = await api.create<SchemaOf<'Grant'>>('/v2/grants', {
    account_id: bareId,
    currency: 'usd',
    amount: '12345678901234567890.123456789012345678',
    effective_at: 1_700_000_000,
    expires_at: IN_2100,
  })
  const product = await api.create<SchemaOf<'Product'>>('/v2/products', { name: 'Tokens' })
  const price = await api.create<SchemaOf<'Price'>>('/v2/prices', {
    product_id: product.id,
    currency: 'usd',
    model: 'per_unit',
    unit_amount: '0.000000000000000001',
  })

  const pages: string[][] = []
  for (let hasMore = true, last: string | undefined; hasMore;) {
    const after = last === undefined ? '' : `&starting_after=${last}`
    const { body } = await api.get<SchemaOf<'AccountPage'>>(`/v2/accounts?limit=2${after}`)
    pages.push(body.data.map(({ id }) => id))
    last = body.data.at(-1)?.id
    hasMore = body.has_more
  }
  const missing = await api.get(`/v2/accounts/${MISSING}`)
  const expected = {
    full: (await api.get<SchemaOf<'Account'>>(`/v2/accounts/${fullId}`)).body,
    bare: (await api.get<SchemaOf<'Account'>>(`/v2/accounts/${bareId}`)).body,
    pages,
    grant: { amount: grant.amount, expires_at: IN_2100 },
    price: { model: 'per_unit', unit_amount: '0.000000000000000001' },
    missing: { status: missing.status, text: missing.text },
  }
  expect(pages.map((ids) => ids.length)).to.deep.equal([2, 2, 1])
  expect(expected.full.archived_at).to.be.a('number')
  expect(expected.missing).to.deep.include({ status: 404 })
  return { expected, words: [url, key, fullId, bareId, grant.id, price.id, MISSING] }
}
