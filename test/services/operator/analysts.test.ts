import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Answer, askAt } from '../../support/analysts.ts'
import { ApiClient } from '../../support/api-client.ts'
import { connectToPostgres, namespaceOf, runCommand } from '../../support/by-hand.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'

/** Runs until its time is over. */
const ENDLESS =
  'SELECT count() FROM (SELECT arrayJoin(range(300000)) AS x) AS a, (SELECT arrayJoin(range(300000)) AS y) AS b WHERE cityHash64(x, y) = 1'

describe('analysts by command', function () {
  this.timeout(120_000)
  let tally: RunningTally
  let ada: string
  let sam: string

  const run = (...words: string[]) => runCommand(tally.dataFolder, 'analysts', ...words)
  /** Adds an analyst. @returns the password */
  const add = async (company: string, name: string) => {
    const { code, output } = await run('add', '--company', company, '--name', name)
    expect(code, output).to.equal(0)
    return /^password +(\S+)$/m.exec(output)?.[1] ?? ''
  }
  const ask = (name: string, password: string, query: string, url: Record<string, string> = {}) =>
    askAt(tally.analystUrl, query, url, { 'x-clickhouse-user': name, 'x-clickhouse-key': password })
  const accounts = async (name: string, password: string) => {
    const { status, text } = await ask(name, password, 'SELECT DISTINCT account_id FROM events ORDER BY 1')
    expect(status, text).to.equal(200)
    return text.trim()
  }
  const reportTo = async (key: string) => {
    const world = await makeWorld(new ApiClient(tally.url, key))
    await world.report({ currency: 'usd', quantity: '1' })
    await world.counted(1)
    return world.account
  }

  before(async () => {
    // Why a separate Tally: it is killed and started again, and its only analysts are those made here.
    tally = await startTally()
    await runCommand(tally.dataFolder, 'companies', 'create', '--name', 'acme')
  })
  after(() => tally.discard())

  it('sign in with what the command prints, and see their company alone', async () => {
    const issued = await runCommand(tally.dataFolder, 'keys', 'issue', '--company', 'acme', '--quiet')
    const [ofDefault, ofAcme, ofSandbox] = [
      await reportTo(tally.key),
      await reportTo(issued.output.trim()),
      await reportTo(tally.testKey),
    ]
    const { code, output } = await run('add', '--company', 'acme', '--name', 'ada')
    expect(code, output).to.equal(0)
    ada = /^password +(\S+)$/m.exec(output)?.[1] ?? ''
    expect(ada).to.match(/^tally_analyst_\w{38}$/)
    const { port } = new URL(tally.analystUrl)
    for (const line of [
      'user      ada',
      `url       http://127.0.0.1:${port}`,
      `  jdbc:clickhouse://127.0.0.1:${port}/default`,
      '      type: grafana-clickhouse-datasource',
      '        protocol: http',
      `        port: ${port}`,
      '        defaultDatabase: default',
      `        password: "${ada}"`,
    ])
      expect(output.split('\n')).to.include(line)
    sam = await add('sandbox', 'sam')
    expect(await accounts('ada', ada)).to.equal(ofAcme)
    expect(await accounts('sam', sam)).to.equal(ofSandbox)
    const fresh = await add('default', 'dan')
    expect(await accounts('dan', fresh)).to.equal(ofDefault)
  })

  it('may give the password alone, as a Bearer token', async () => {
    const asBearer = (token: string) =>
      askAt(tally.analystUrl, 'SELECT currentUser()', {}, { authorization: `Bearer ${token}` })
    expect((await asBearer(ada)).text).to.equal('ada\n')
    expect((await asBearer(sam)).text).to.equal('sam\n')
    const wrong = await asBearer(`${ada}x`)
    expect([wrong.status, wrong.code]).to.deep.equal([403, 516])
    const unknown = await ask('nobody', ada, 'SELECT 1')
    expect([unknown.status, unknown.code]).to.deep.equal([403, 516])
    expect((await ask('sam', ada, 'SELECT 1')).code).to.equal(516)
  })

  it('are listed and in the trail, without a password', async () => {
    const { output } = await run('list')
    expect(output).to.match(/^ada +acme +20\S+ +valid$/m)
    expect(output).to.match(/^sam +sandbox +20\S+ +valid$/m)
    expect((await run('list', '--company', 'acme')).output).to.not.include('sam')
    const trail = await runCommand(tally.dataFolder, 'trail', '--company', 'acme')
    expect(trail.output).to.match(/operator +analyst\.added +\S+ +\{"name":"ada"\}/)
    expect(output + trail.output).to.not.include(ada)
  })

  it('are refused with a reason', async () => {
    const cases: [words: string[], code: number, reason: RegExp][] = [
      [['add', '--company', 'acme'], 2, /--name is required/],
      [['add', '--name', 'analyst'], 2, /not analyst or default/],
      [['add', '--name', "a'b"], 2, /1 to 64 letters/],
      [['add', '--name', 'ada'], 1, /there is an analyst "ada" already/],
      [['add', '--company', 'nowhere', '--name', 'x'], 1, /no company "nowhere"; there are: .*"default"/],
      [['revoke'], 2, /one name/],
      [['revoke', 'nobody'], 1, /there is no analyst "nobody"/],
      [['sql', '--name', 'x'], 1, /embedded here/],
      [['fly'], 2, /list, add, revoke, sql/],
    ]
    for (const [words, code, reason] of cases) {
      const result = await run(...words)
      expect(result.code, result.output).to.equal(code)
      expect(result.output).to.match(reason)
    }
  })

  it('follow a test company that is reset, and show a live one nothing of it', async () => {
    await new ApiClient(tally.url, tally.testKey).create('/v2/test/reset', {})
    const account = await reportTo(tally.testKey)
    const resetAt = performance.now()
    await until(async () => (await accounts('sam', sam)) === account)
    expect(performance.now() - resetAt).to.be.lessThan(5_000)
    expect(await accounts('ada', ada)).to.not.include(account)
  })

  it('follow it also when Tally is killed after the reset', async () => {
    await new ApiClient(tally.url, tally.testKey).create('/v2/test/reset', {})
    const pool = await connectToPostgres(tally.dataFolder)
    // As if the views had not followed yet, whenever the process was killed.
    await pool.query('UPDATE analyst_databases SET shown_namespace = NULL')
    const namespace = await namespaceOf(pool, 'sandbox')
    await pool.end()
    await tally.kill9()
    tally = await startTally({ dataFolder: tally.dataFolder, env: { CLICKHOUSE_HTTP_HOST: '127.0.0.2' } })
    expect(new URL(tally.analystUrl).hostname).to.equal('127.0.0.2')
    const account = await reportTo(tally.testKey)
    await until(async () => (await accounts('sam', sam)) === account)
    const after = await connectToPostgres(tally.dataFolder)
    const { rows } = await after.query<{ shown: string }>(
      'SELECT shown_namespace AS shown FROM analyst_databases JOIN companies USING (company_id) WHERE name = $1',
      ['sandbox'],
    )
    await after.end()
    expect(rows).to.deep.equal([{ shown: namespace }])
  })

  it('get 403 within five seconds once they are revoked, and what they ask ends', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const onOneConnection = (query: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { 'x-clickhouse-user': 'ada', 'x-clickhouse-key': ada }
        request(tally.analystUrl, { method: 'POST', headers, agent }, (response) => {
          response.resume().on('end', () => {
            resolve(response.statusCode ?? 0)
          })
        })
          .on('error', reject)
          .end(query)
      })
    expect(await onOneConnection('SELECT 1')).to.equal(200)
    const startedAt = performance.now()
    const running: Promise<Answer> = ask('ada', ada, ENDLESS)
    await sleep(1_000)
    const { code, output } = await run('revoke', 'ada')
    expect(code, output).to.equal(0)
    expect(await onOneConnection('SELECT 1')).to.equal(403)
    const ended = await running
    expect([ended.status, ended.code], ended.text).to.deep.equal([403, 516])
    expect(performance.now() - startedAt).to.be.lessThan(6_000)
    agent.destroy()
    expect((await run('revoke', 'ada')).output).to.match(/^ada was revoked already, 20/)
    expect((await ask('sam', sam, 'SELECT 1')).text).to.equal('1\n')
  })

  it('can be added again under their name, with another password', async () => {
    const before = ada
    ada = await add('default', 'ada')
    expect(ada).to.not.equal(before)
    expect((await ask('ada', before, 'SELECT 1')).code).to.equal(516)
    expect((await ask('ada', ada, 'SELECT 1')).text).to.equal('1\n')
    const { output } = await run('list')
    expect(output).to.match(/^ada +acme +\S+ +revoked 20\S+$/m)
    expect(output).to.match(/^ada +default +\S+ +valid$/m)
  })

  it('sign in without the one who sees all companies, where ANALYST_ALL is off', async () => {
    await tally.stop()
    tally = await startTally({ dataFolder: tally.dataFolder, env: { ANALYST_ALL: 'off' } })
    expect(tally.output()).to.match(/; "npm run analysts -- add" makes one\.$/m)
    expect((await ask('ada', ada, 'SELECT 1')).text).to.equal('1\n')
    const password = (await readFile(`${tally.dataFolder}/analyst-password`, 'utf8')).trim()
    expect((await ask('analyst', password, 'SELECT 1')).code).to.equal(516)
    expect(
      (await askAt(tally.analystUrl, 'SELECT 1', {}, { authorization: `Bearer ${password}` })).code,
    ).to.equal(516)
  })
})
