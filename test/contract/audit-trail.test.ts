import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { listOperations, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { ApiClient } from '../support/api-client.ts'
import { namespaceOf, openPoolByHand } from '../support/by-hand.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { makeRequestWorld, TRIES, type World } from './requests.ts'

/** Operations that write without an entry in the trail, each with the reason. */
const WITHOUT_TRAIL: Readonly<Record<string, string>> = {
  reportEvent: 'usage is its own trail',
  reportEvents: 'usage is its own trail',
  correctEvent: 'its revisions are its trail',
  voidEvent: 'its revisions are its trail',
  correctEvents: 'its revisions are its trail',
  seedTestCompany: 'what it makes up is no work of anybody',
  drainTestCompany: 'it waits, and changes nothing',
  previewInvoice: 'it reads, and what it tries out is rolled back',
  simulateRateCard: 'it reads, and what it tries out is rolled back',
}

interface Entry {
  id: string
  api_key_id: string | null
  action: string
  resource_id: string
  changes: Record<string, unknown>
}

describe('the trail of who did what', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let world: World
  let testApi: ApiClient
  let keyId: string | undefined
  let testKeyId: string | undefined
  let owner: Pool
  let service: Pool

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    world = await makeRequestWorld(api)
    testApi = new ApiClient(tally.url, tally.testKey)
    ;[keyId, testKeyId] = await Promise.all([api, testApi].map(firstKeyOf))
    owner = openPoolByHand(tally.postgres.superuserUrl)
    service = openPoolByHand(tally.postgres.serviceUrl)
  })
  after(async () => {
    await owner.end()
    await service.end()
    await tally.end()
  })

  const trailOf = async (client: ApiClient, query = ''): Promise<Entry[]> =>
    (await client.get<{ data: Entry[] }>(`/v2/audit-trail${query}`)).body.data

  const writes = listOperations(readOpenApiDocument()).filter(({ method }) => method !== 'get')

  for (const { operationId, method, path } of writes)
    it(`${operationId} leaves ${operationId in WITHOUT_TRAIL ? 'none' : 'one entry'}`, async () => {
      const tries = TRIES[operationId]
      const [client, user] = tries?.isForTests === true ? [testApi, testKeyId] : [api, keyId]
      const { target, body } = (await tries?.good({ ...world, api: client })) ?? { target: '' }
      const [before] = await trailOf(client, '?limit=1')
      const answer = await client.request<{ id?: string }>(method.toUpperCase(), target, body, {})
      expect(answer.status, answer.text).to.be.oneOf([200, 202])
      const entries = await trailOf(client)
      const made = entries.slice(
        0,
        entries.findIndex(({ id }) => id === before?.id),
      )
      if (operationId in WITHOUT_TRAIL) {
        expect(made).to.deep.equal([])
        return
      }
      expect(made.length, 'entries').to.equal(1)
      const [entry] = made
      expect(entry?.api_key_id).to.equal(user)
      const resource = tries?.isForTests === true ? 'company' : resourceOf(path)
      expect(entry?.action).to.match(new RegExp(`^${resource}\\.`))
      const named = target.split('/').slice(3).join('/')
      if (tries?.isForTests !== true)
        expect(`${named} ${answer.text}`, 'the resource it names').to.contain(
          entry?.resource_id.split('/').at(-1),
        )
      expect(JSON.stringify(entry)).not.to.match(/tally_(live|test)_/)
    })

  it('names no operation that does not write', () => {
    const known = writes.map(({ operationId }) => operationId)
    expect(Object.keys(WITHOUT_TRAIL).filter((id) => !known.includes(id))).to.deep.equal([])
  })

  it('shows what was asked for, newest first, by resource and by key, a page at a time', async () => {
    const { id } = await api.create<{ id: string }>('/v2/accounts', { name: 'before' })
    await api.patch(`/v2/accounts/${id}`, { name: 'after', description: null })
    await api.post(`/v2/accounts/${id}/archive`, {})
    const all = await trailOf(api, `?resource_id=${id}`)
    expect(all.map(({ action, changes }) => ({ action, changes }))).to.deep.equal([
      { action: 'account.archived', changes: {} },
      { action: 'account.changed', changes: { name: 'after', description: null } },
      { action: 'account.created', changes: { name: 'before' } },
    ])
    const [first] = await trailOf(api, `?resource_id=${id}&limit=1`)
    expect(await trailOf(api, `?resource_id=${id}&starting_after=${first?.id ?? ''}`)).to.deep.equal(
      all.slice(1),
    )
    expect(await trailOf(api, `?resource_id=${id}&api_key_id=${keyId ?? ''}`)).to.deep.equal(all)
    expect(await trailOf(api, `?resource_id=${id}&api_key_id=${randomUUID()}`)).to.deep.equal([])
    const pair = `${world.account}/${world.metric}`
    expect((await trailOf(api, `?resource_id=${pair}`)).map(({ action }) => action)).to.contain(
      'refill_configuration.created',
    )
    const unknown = await api.get(`/v2/audit-trail?starting_after=${randomUUID()}`)
    expect([unknown.status, unknown.text]).to.deep.equal([
      400,
      'starting_after: no item of this list has that id',
    ])
  })

  it('has what operators do, without a key', async () => {
    const { output } = await tally.command('keys', 'issue', '--company', tally.company, '--name', 'by hand')
    const [id = ''] = /[0-9a-f-]{36}/.exec(output) ?? []
    await tally.command('keys', 'rotate', id, '--overlap-s', '60')
    await tally.command('keys', 'revoke', id)
    const entries = await trailOf(api, `?resource_id=${id}`)
    expect(entries.map((entry) => [entry.api_key_id, entry.action])).to.deep.equal([
      [null, 'api_key.revoked'],
      [null, 'api_key.rotated'],
      [null, 'api_key.issued'],
    ])
    const trail = (...words: string[]) => tally.command('trail', '--company', tally.company, ...words)
    const printed = await trail('--resource', id)
    expect(printed.code, printed.output).to.equal(0)
    expect(printed.output).to.match(/operator +api_key\.issued/)
    expect((await trail('--limit', '2')).output).to.contain('--limit 20 shows more')
    expect((await trail('--key', 'x')).code).to.equal(2)
  })

  it('has nothing of a request that was refused', async () => {
    const headers = { 'Idempotency-Key': 'the trail' }
    await api.create('/v2/accounts', { name: 'once' }, { headers })
    const [before] = await trailOf(api, '?limit=1')
    expect((await api.post('/v2/accounts', { name: 'twice' }, { headers })).status).to.equal(409)
    expect((await api.patch(`/v2/accounts/account_${'0'.repeat(32)}`, { name: 'x' })).status).to.equal(404)
    expect((await trailOf(api, '?limit=1'))[0]).to.deep.equal(before)
  })

  it('is written in the transaction of the change: without an entry there is none', async () => {
    const { id } = await api.create<{ id: string }>('/v2/accounts', { name: 'before' })
    const company = await companyRepository(service).findByName(tally.company)
    await owner.query(
      `ALTER TABLE audit_trail ADD CONSTRAINT full_up CHECK (company_id <> '${company?.id ?? ''}') NOT VALID`,
    )
    try {
      expect((await api.patch(`/v2/accounts/${id}`, { name: 'after' })).status).to.equal(500)
      expect((await api.post('/v2/accounts', { name: 'after', external_id: 'no trail' })).status).to.equal(
        500,
      )
    } finally {
      await owner.query('ALTER TABLE audit_trail DROP CONSTRAINT full_up')
    }
    expect((await api.get<{ name: string }>(`/v2/accounts/${id}`)).body.name).to.equal('before')
    expect((await api.get('/v2/accounts/external-id/no%20trail')).status).to.equal(404)
  })

  it('cannot be changed by the services, and is the company’s own', async () => {
    const [ours = '', theirs = ''] = await Promise.all(
      [tally.company, tally.testCompany].map((name) => namespaceOf(service, name)),
    )
    const inOurs = (text: string) => inNamespace(service, ours, (db) => db.query(text))
    for (const text of [
      "UPDATE audit_trail SET action = 'account.created'",
      'DELETE FROM audit_trail',
      'TRUNCATE audit_trail',
    ]) {
      const failure = await inOurs(text).catch((err: unknown) => String(err))
      expect(failure).to.match(/permission denied for table audit_trail/)
    }
    const stranger = new ApiClient(tally.url, tally.testKey)
    expect((await trailOf(stranger, `?resource_id=${world.account}`)).length).to.equal(0)
    const count = async (namespace: string | undefined) => {
      const text = "SELECT count(*)::int AS n FROM audit_trail WHERE action = 'account.created'"
      const { rows } = await (namespace === undefined
        ? service.query<{ n: number }>(text)
        : inNamespace(service, namespace, (db) => db.query<{ n: number }>(text)))
      return rows[0]?.n
    }
    expect(await count(ours)).to.be.greaterThan(0)
    expect([await count(theirs), await count(undefined)]).to.deep.equal([0, 0])
    const forged = await inNamespace(service, theirs, (db) =>
      db.query(
        `INSERT INTO audit_trail (entry_id, company_id, action, resource_id, changes)
         SELECT gen_random_uuid(), company_id, 'account.created', 'x', '{}' FROM companies WHERE name = $1`,
        [tally.company],
      ),
    ).catch((err: unknown) => String(err))
    expect(forged).to.match(/violates row-level security policy/)
  })
})

const resourceOf = (path: string): string => path.split('/')[2]?.replaceAll('-', '_').replace(/s$/, '') ?? ''

async function firstKeyOf(client: ApiClient): Promise<string | undefined> {
  const { body } = await client.get<{ data: { id: string; name: string }[] }>('/v2/api-keys')
  return body.data.find(({ name }) => name === 'first key')?.id
}
