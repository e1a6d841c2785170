import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import { ApiClient } from '../../support/api-client.ts'
import { runCommand } from '../../support/by-hand.ts'
import { rawRequest } from '../../support/raw-request.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { makeWorld } from '../../support/usage-world.ts'

describe('the ports of a Tally', function () {
  this.timeout(60_000)
  let tally: RunningTally
  let world: Awaited<ReturnType<typeof makeWorld>>

  before(async () => {
    const dataFolder = path.join(await makeTempFolder('ports'), 'data')
    await mkdir(dataFolder)
    // Of a state before commands went over a socket.
    for (const name of ['admin-token', 'admin-address']) await writeFile(path.join(dataFolder, name), 'x')
    // Why a separate Tally: the test checks its admin port and its folder.
    tally = await startTally({ dataFolder })
    world = await makeWorld(new ApiClient(tally.url, tally.key))
  })
  after(() => tally.discard())

  const request = (line: string, headers: Record<string, string>, body = ''): string =>
    [
      `${line} HTTP/1.1`,
      ...Object.entries({ Host: 'x', Connection: 'close', ...headers }).map(
        ([name, value]) => `${name}: ${value}`,
      ),
      '',
      body,
    ].join('\r\n')
  const untilClosed = () => false
  const event = () => JSON.stringify({ account_id: world.account, metric_id: world.tokens, quantity: '1' })
  const json = (body: string) => ({
    'x-api-key': tally.key,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
  })

  it('take targets with a host in them, as a client with a proxy sends them', async () => {
    const [one, many] = [event(), `{"events":[${event()}]}`]
    for (const [url, text, status] of [
      [tally.url, request('GET http://api.example/v2/accounts?limit=1', json('')), 200],
      [tally.url, request('GET http://api.example', json('')), 404],
      [tally.url, request('POST http://api.example/v2/events', json(one), one), 202],
      [tally.url, request('POST http://api.example/v2/events/batch', json(many), many), 202],
      [tally.url, request('POST http://api.example/v2/events?x=1', json(one), one), 400],
      [tally.analystUrl, request('GET http://clickhouse.example/ping', {}), 200],
      [tally.adminUrl, request('GET http://localhost/livez', {}), 200],
      [tally.adminUrl, request('GET http://127.0.0.1:9464/metrics', { Host: 'rebind.example' }), 200],
    ] as const)
      expect(await rawRequest(url, text, untilClosed), text).to.match(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it('ask for a body once its key was found right, and answer at once otherwise', async () => {
    const expecting = (path: string, key: string, length: number) =>
      request(`POST ${path}`, {
        ...json(''),
        'x-api-key': key,
        'Content-Length': String(length),
        Expect: '100-continue',
      })
    const isAnswer = (got: string) => got.includes('\r\n\r\n')
    for (const path of ['/v2/events', '/v2/events/batch', '/v2/accounts', '/v2/events/corrections']) {
      const asked = await rawRequest(tally.url, expecting(path, tally.key, 100), isAnswer)
      expect(asked, path).to.equal('HTTP/1.1 100 Continue\r\n\r\n')
      for (const [key, length, status] of [
        ['', 100, 401],
        [newApiKey('live'), 100, 401],
        [tally.key, 1_000_000_000, 413],
      ] as const) {
        const refused = await rawRequest(tally.url, expecting(path, key, length), isAnswer)
        expect(refused, path).to.match(new RegExp(`^HTTP/1.1 ${status} `))
      }
    }
    const query = (user: string) =>
      request('POST /', { Authorization: user, Expect: '100-continue', 'Content-Length': '8' })
    expect(await rawRequest(tally.analystUrl, query('Basic eDp5'), isAnswer)).to.match(/^HTTP\/1.1 403 /)
  })

  describe('for probes and metrics', () => {
    const ask = async (target: string, options: RequestInit = {}) => {
      const response = await fetch(tally.adminUrl + target, options)
      return {
        status: response.status,
        type: response.headers.get('content-type'),
        text: await response.text(),
      }
    }
    const TEXT = 'text/plain; charset=utf-8'

    it('answer in plain words, whatever is asked', async () => {
      expect(await ask('/livez')).to.deep.equal({ status: 200, type: TEXT, text: 'ok' })
      const missing = { status: 404, type: TEXT, text: 'not found' }
      expect(await ask('/')).to.deep.equal(missing)
      expect(await ask('/METRICS')).to.deep.equal(missing)
      expect(await ask('/metrics/')).to.deep.equal(missing)
      for (const name of ['audit', 'keys', '%ff', ''])
        for (const headers of [{}, { 'content-type': 'application/json' }])
          expect(await ask(`/commands/${name}`, { method: 'POST', headers, body: '{}' }), name).to.deep.equal(
            missing,
          )
    })

    const hostAnswer = (host: string) =>
      rawRequest(tally.adminUrl, request('GET /metrics', { Host: host }), untilClosed)

    it('are read by address, as localhost and by names without a dot', async () => {
      for (const host of [
        'localhost',
        'LOCALHOST:9464',
        'localhost.',
        '127.0.0.1',
        '10.1.2.3:9464',
        '[::1]:9464',
        '[fe80::1]',
        'gateway:9465', // as containers call each other
      ])
        expect(await hostAnswer(host), host).to.match(/^HTTP\/1.1 200 /)
      const bare = 'GET /livez HTTP/1.0\r\n\r\n' // no browser sends that
      expect(await rawRequest(tally.adminUrl, bare, untilClosed)).to.match(/^HTTP\/1.1 200 /)
    })

    it('say nothing to a page whose name was made to lead here', async () => {
      for (const host of [
        'rebind.example',
        'rebind.example:9464',
        'localhost.example',
        '127.0.0.1.example',
        '1.2.3',
        '127.1',
        '[::1].example',
        '',
        ':9464',
        'a@localhost.x',
      ]) {
        const answer = await hostAnswer(host)
        expect(answer, host).to.match(/^HTTP\/1.1 421 /)
        expect(answer, host).to.match(/\r\n\r\nHost: .* is not a name of this port: /)
      }
      const target = 'GET http://rebind.example/metrics'
      expect(await rawRequest(tally.adminUrl, request(target, { Host: 'localhost' }), untilClosed)).to.match(
        /^HTTP\/1.1 421 /,
      )
    })
  })

  it('are none of them where commands go: these take a socket that only its user reaches', async () => {
    const mode = async (name: string) => (await stat(path.join(tally.dataFolder, name))).mode & 0o777
    expect(await mode('operator')).to.equal(0o700)
    expect(await mode('operator/socket')).to.equal(0o600)
    const names = await readdir(tally.dataFolder)
    expect(names).not.to.include('admin-token').and.not.to.include('admin-address')
    const { code, output } = await runCommand(tally.dataFolder, 'companies', 'list')
    expect([code, output.includes('default')], output).to.deep.equal([0, true])
  })
})
