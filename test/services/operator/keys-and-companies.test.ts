import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'

describe('companies and keys by command', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest

  before(async () => {
    tally = await shareTallyUnderTest()
  })

  /** Issues a key, which the command prints last. */
  const issue = async (...words: string[]) => {
    const { output } = await tally.command('keys', 'issue', ...words)
    return { key: output.trim().split('\n').at(-1) ?? '', id: /[0-9a-f-]{36}/.exec(output)?.[0] ?? '' }
  }

  it('a key does what it may, and nothing within five seconds of its end', async () => {
    const { key, id } = await issue(
      '--company',
      tally.company,
      '--name',
      'reader',
      '--permissions',
      'read:all',
    )
    const reader = new ApiClient(tally.url, key)
    expect((await reader.get('/v2/accounts')).status).to.equal(200)
    const forbidden = await reader.post('/v2/accounts', { name: 'x' })
    expect([forbidden.status, forbidden.text]).to.deep.equal([
      403,
      'this key does not have the permission write:all',
    ])
    expect((await tally.command('keys', 'revoke', id)).code).to.equal(0)
    const revokedAt = performance.now()
    await until(async () => (await reader.get('/v2/accounts')).status === 401)
    expect(performance.now() - revokedAt).to.be.lessThan(5_000)
    const list = await tally.command('keys', 'list', '--company', tally.company)
    expect(list.output).to.match(new RegExp(`${id} .*reader .*revoked`))
    expect(list.output).to.not.contain(key)
    expect((await tally.command('keys', 'revoke', 'nobody')).code).to.equal(1)
    expect((await tally.command('keys', 'issue', '--permissions', 'fly')).code).to.equal(2)
  })

  it('companies see nothing of each other', async () => {
    const name = `${tally.company}, second`
    expect((await tally.command('companies', 'create', '--name', name, '--mode', 'test')).code).to.equal(0)
    expect((await tally.command('companies', 'create', '--name', name)).output).to.contain('already')
    const { key } = await issue('--company', name)
    expect(key).to.match(/^tally_test_/)
    await new ApiClient(tally.url, tally.key).create('/v2/accounts', { name: 'mine' })
    const { body } = await new ApiClient(tally.url, key).get<{ data: object[] }>('/v2/accounts')
    expect(body.data).to.have.length(0)
    const { output } = await tally.command('companies', 'list')
    expect(output).to.match(new RegExp(`${name} +test`))
  })

  it('show names that a terminal would obey by the numbers of their characters', async () => {
    const [hostile, shown] = ['\u202ea\u001b[2J\nb\ufeff', '\\u{202e}a\\u{1b}[2J\\u{a}b\\u{feff}']
    const company = `${tally.company} ${hostile}`
    const made = await tally.command('companies', 'create', '--name', company)
    const { id } = await issue('--company', tally.company, '--name', hostile)
    const api = new ApiClient(tally.url, tally.key)
    const account = await api.create<{ id: string }>('/v2/accounts', { name: hostile })
    const listed = {
      made: made.output,
      missing: (await tally.command('keys', 'list', '--company', hostile)).output,
      companies: (await tally.command('companies', 'list')).output,
      keys: (await tally.command('keys', 'list', '--company', tally.company)).output,
      trail: (await tally.command('trail', '--company', tally.company, '--resource', account.id)).output,
    }
    for (const [name, output] of Object.entries(listed)) {
      expect(output, name).not.to.match(/(?!\n)\p{C}/u)
      expect(output, name).to.contain('\\u{202e}a')
    }
    expect(listed.companies).to.contain(`${tally.company} ${shown} `)
    expect(listed.keys).to.match(new RegExp(`^${id} +${shown.replaceAll(/[\\{}[\]]/g, '\\$&')} `, 'm'))
    expect(listed.trail).to.contain('{"name":"\\u{202e}a\\u001b[2J\\nb\\u{feff}"}')
  })
})
