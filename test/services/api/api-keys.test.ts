import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface KeyBody {
  id: string
  name: string
  last_characters: string
  permissions: string[]
  status: string
  issued_by: string | null
  expires_at?: number
  replaced_by?: string
  revoked_at: number | null
}
interface CallerBody {
  company: object
  api_key: KeyBody
  now: number
  real_now: number
  version: string
}
interface Issued {
  key: string
  api_key: KeyBody
  old_api_key?: KeyBody
}

const EVERYTHING = ['read:all', 'write:all', 'manage:keys']
const { version: packageVersion } = JSON.parse(
  await readFile(path.join(PROJECT_ROOT, 'package.json'), 'utf8'),
) as { version: string }
const nowS = () => Math.floor(Date.now() / 1_000)

describe('API keys over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
  })
  after(() => tally.end())

  const issue = (body: object = {}, client = api) =>
    client.create<Issued>('/v2/api-keys', { name: 'k', permissions: EVERYTHING, ...body })
  const with_ = (key: string) => new ApiClient(tally.url, key)
  const say = async (answer: Promise<{ status: number; text: string }>) => {
    const { status, text } = await answer
    return [status, text]
  }

  it('are shown once when they are issued, and work at once with what they were given', async () => {
    const { key, api_key } = await issue({ name: 'reader', permissions: ['read:all'] })
    expect(key).to.match(/^tally_live_\w{38}$/)
    expect(api_key).to.include({ name: 'reader', status: 'active', revoked_at: null })
    expect(api_key.permissions).to.deep.equal(['read:all'])
    expect(api_key.last_characters).to.equal(key.slice(-4))
    expect((await with_(key).get('/v2/metrics')).status).to.equal(200)
    expect((await with_(key).post('/v2/metrics', { name: 'x' })).status).to.equal(403)
    const one = await api.get<KeyBody>(`/v2/api-keys/${api_key.id.toUpperCase()}`)
    expect(one.body).to.deep.equal({ ...api_key })
    const list = await api.get<{ data: KeyBody[] }>('/v2/api-keys')
    expect(list.body.data.map(({ id }) => id)).to.contain(api_key.id)
    expect(one.text + list.text).not.to.contain(key.slice(11, 43))
    expect((await tally.command('keys', 'list', '--company', tally.company)).output).to.contain(api_key.id)
    expect(await tally.output()).not.to.contain(key.slice(11, 43))
  })

  it('say whose they are and what they may do, whatever that is', async () => {
    for (const permissions of EVERYTHING.map((permission) => [permission])) {
      const { key, api_key } = await issue({ permissions })
      const { status, body } = await with_(key).get<CallerBody>('/v2/caller')
      expect(status, permissions.join()).to.equal(200)
      const { company, api_key: shown, now, real_now, version } = body
      expect(company).to.include({ name: tally.company, mode: 'live' })
      // The time of the last use is stored some time later.
      expect({ ...shown, last_used_at: null }).to.deep.equal({ ...api_key, last_used_at: null })
      expect(now).to.equal(real_now).and.to.be.closeTo(nowS(), 5)
      expect(version).to.equal(packageVersion)
    }
  })

  it('are listed in order of creation, a page at a time, and the company’s own alone', async () => {
    const made = [await issue(), await issue(), await issue()].map(({ api_key }) => api_key.id)
    const { body } = await api.get<{ data: KeyBody[]; has_more: boolean }>(
      `/v2/api-keys?limit=2&starting_after=${made[0] ?? ''}`,
    )
    expect(body.data.map(({ id }) => id)).to.deep.equal(made.slice(1))
    const stranger = with_(tally.testKey)
    const theirs = await stranger.get<{ data: KeyBody[] }>('/v2/api-keys')
    expect(theirs.body.data.filter(({ id }) => made.includes(id))).to.deep.equal([])
    expect(await say(stranger.get(`/v2/api-keys?starting_after=${made[0] ?? ''}`))).to.deep.equal([
      400,
      'starting_after: no item of this list has that id',
    ])
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/revoke'],
    ] as const)
      expect(
        await say(stranger.request(method, `/v2/api-keys/${made[0] ?? ''}${path}`, undefined, {})),
      ).to.deep.equal([404, 'not found'])
  })

  it('give only what they have', async () => {
    const lesser = await issue({ permissions: ['read:all', 'manage:keys'] })
    const client = with_(lesser.key)
    const more = await client.post('/v2/api-keys', { name: 'x', permissions: ['write:all'] })
    expect([more.status, more.text]).to.deep.equal([
      403,
      'permissions: this key does not have write:all, and a key gives only what it has',
    ])
    const given = await issue({ permissions: ['read:all'] }, client)
    expect(given.api_key.issued_by).to.equal(lesser.api_key.id)
    const full = await issue()
    const target = `/v2/api-keys/${full.api_key.id}/rotate`
    for (const permissions of [undefined, ['read:all']])
      expect((await client.post(target, { overlap_seconds: 0, permissions })).status).to.equal(403)
    expect((await api.get<KeyBody>(`/v2/api-keys/${full.api_key.id}`)).body.status).to.equal('active')
  })

  it('that end give none that outlive them', async () => {
    const expires_at = nowS() + 600
    const client = with_((await issue({ expires_at })).key)
    const body = { name: 'x', permissions: ['read:all'] }
    for (const wanted of [undefined, expires_at + 1])
      expect(await say(client.post('/v2/api-keys', { ...body, expires_at: wanted }))).to.deep.equal([
        403,
        `expires_at: this key ends at ${expires_at}, and gives no key that outlives it`,
      ])
    const made = await issue({ ...body, expires_at }, client)
    expect(made.api_key.expires_at).to.equal(expires_at)
  })

  it('are rotated: another takes over name, permissions and end', async () => {
    const expires_at = nowS() + 3_600
    const old = await issue({ name: 'billing', permissions: ['read:all', 'write:all'], expires_at })
    const target = `/v2/api-keys/${old.api_key.id}/rotate`
    const rotated = await api.create<Issued>(target, { old_key_ends_at: nowS() + 60 })
    expect(rotated.api_key).to.include({ name: 'billing', status: 'active', expires_at })
    expect(rotated.api_key.permissions).to.deep.equal(['read:all', 'write:all'])
    expect(rotated.old_api_key).to.include({ id: old.api_key.id, replaced_by: rotated.api_key.id })
    expect(rotated.old_api_key?.expires_at).to.be.within(nowS(), nowS() + 61)
    expect(rotated.key).not.to.equal(old.key)
    for (const { key } of [old, rotated]) expect((await with_(key).get('/v2/metrics')).status).to.equal(200)
    expect(await say(api.post(target, { overlap_seconds: 0 }))).to.deep.equal([
      409,
      `this key was rotated before: ${rotated.api_key.id} took its place`,
    ])
    const next = await api.create<Issued>(`/v2/api-keys/${rotated.api_key.id}/rotate`, {
      overlap_seconds: 0,
      permissions: ['read:all'],
      expires_at: null,
    })
    expect(next.api_key.permissions).to.deep.equal(['read:all'])
    expect(next.api_key).not.to.have.property('expires_at')
    expect((await with_(rotated.key).get('/v2/metrics')).status).to.equal(401)
    const gained = await api.post(`/v2/api-keys/${next.api_key.id}/rotate`, {
      overlap_seconds: 0,
      permissions: ['read:all', 'write:all'],
    })
    expect([gained.status, gained.text]).to.deep.equal([
      422,
      'permissions: the key that is rotated does not have write:all, and a rotation adds no permissions',
    ])
  })

  it('are not rotated when it is not said how long the old one goes on', async () => {
    const { api_key } = await issue()
    const target = `/v2/api-keys/${api_key.id}/rotate`
    const exactlyOne = 'overlap_seconds, old_key_ends_at: exactly one of them is required'
    for (const [body, status, text] of [
      [{}, 422, exactlyOne],
      [{ overlap_seconds: 1, old_key_ends_at: nowS() + 9 }, 422, exactlyOne],
      [
        { old_key_ends_at: 5 },
        422,
        'old_key_ends_at: must lie in the future; overlap_seconds of 0 ends the old key at once',
      ],
      [{ old_key_ends_at: nowS() + 91 * 86_400 }, 422, 'old_key_ends_at: must be within 90 days from now'],
      [{ overlap_seconds: 0, expires_at: 5 }, 422, 'expires_at: must lie in the future'],
      [{ overlap_seconds: -1 }, 400, 'overlap_seconds: must be >= 0'],
      [{ overlap_seconds: 0, permissions: [] }, 400, 'permissions: must not be empty'],
    ] as const)
      expect(await say(api.post(target, body)), JSON.stringify(body)).to.deep.equal([status, text])
    expect((await api.get<KeyBody>(`/v2/api-keys/${api_key.id}`)).body).to.deep.equal(api_key)
  })

  it('are made once for an Idempotency-Key, which a refused request leaves free', async () => {
    const headers = { 'Idempotency-Key': 'a key' }
    const body = { name: 'once', permissions: ['read:all'] }
    expect((await api.post('/v2/api-keys', { ...body, expires_at: 5 }, { headers })).status).to.equal(422)
    expect((await api.post('/v2/api-keys', body, { headers })).status).to.equal(200)
    expect((await api.post('/v2/api-keys', body, { headers })).status).to.equal(409)
    const { data } = (await api.get<{ data: KeyBody[] }>('/v2/api-keys')).body
    expect(data.filter(({ name }) => name === 'once').length).to.equal(1)
  })

  it('are revoked for good, by themselves too, and give nothing from then on', async () => {
    const [manager, other] = [await issue(), await issue()]
    const client = with_(manager.key)
    const revoked = await client.post<KeyBody>(`/v2/api-keys/${other.api_key.id}/revoke`, {})
    expect(revoked.body.status).to.equal('revoked')
    expect((await with_(other.key).get('/v2/metrics')).status).to.equal(401)
    const again = await client.post<KeyBody>(`/v2/api-keys/${other.api_key.id}/revoke`, {})
    expect(again.body).to.deep.equal(revoked.body)
    expect((await api.post(`/v2/api-keys/${other.api_key.id}/rotate`, { overlap_seconds: 9 })).text).to.equal(
      'this key was revoked: issue another',
    )
    expect((await client.post(`/v2/api-keys/${manager.api_key.id}/revoke`, {})).status).to.equal(200)
    expect((await client.get('/v2/metrics')).status).to.equal(401)
  })

  it('of every kind are refused to who does not manage keys', async () => {
    const client = with_((await issue({ permissions: ['read:all', 'write:all'] })).key)
    for (const answer of [
      await client.get('/v2/api-keys'),
      await client.post('/v2/api-keys', { name: 'x', permissions: ['read:all'] }),
      await client.get('/v2/audit-trail'),
    ])
      expect([answer.status, answer.text]).to.deep.equal([
        403,
        'this key does not have the permission manage:keys',
      ])
  })
})
