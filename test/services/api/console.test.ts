import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import express from 'express'
import { readApiConfig } from '../../../services/api/config.ts'
import { serveConsole } from '../../../services/api/console/serve-console.ts'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { errorResponder } from '../../../shared/http/error-responder.ts'
import { type HttpServer, listen } from '../../../shared/http/http-server.ts'
import { testLog } from '../../support/log.ts'
import { startApi } from '../../support/start-api.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

describe('the console over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let page: string

  before(async () => {
    tally = await shareTallyUnderTest()
    page = await readFile(path.join(PROJECT_ROOT, 'dist/console/site/index.html'), 'utf8')
  })
  after(async () => {
    await tally.end()
  })

  const get = (target: string, headers: Record<string, string> = {}) =>
    fetch(tally.url + target, { headers, redirect: 'manual' })

  it('is a page that may load and ask nothing but this address, and that nobody keeps', async () => {
    const answer = await get('/console')
    expect(answer.status).to.equal(200)
    expect(await answer.text()).to.equal(page)
    expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(answer.headers.get('content-security-policy')).to.equal(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(answer.headers.get('x-content-type-options')).to.equal('nosniff')
    expect(answer.headers.get('referrer-policy')).to.equal('no-referrer')
  })

  it('has a path for each of its pages', async () => {
    for (const target of [
      '/console/',
      '/console/accounts',
      '/console/accounts/account_1?source=usd',
      '/console/a.b/c',
    ]) {
      const answer = await get(target)
      expect(answer.status, target).to.equal(200)
      expect(await answer.text(), target).to.equal(page)
    }
  })

  it('has files that may be kept for ever, in the encoding that the browser takes', async () => {
    const files = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file = '']) => file)
    expect(files.length).to.be.greaterThan(2)
    for (const file of files) {
      const plain = await get(file, { 'accept-encoding': 'identity' })
      expect(plain.status, file).to.equal(200)
      expect(plain.headers.get('cache-control'), file).to.equal('public, max-age=31536000, immutable')
      expect(plain.headers.get('vary'), file).to.equal('Accept-Encoding')
      expect(plain.headers.get('content-encoding'), file).to.equal(null)
      const whole = await plain.text()
      for (const [accepted, encoding] of [
        ['gzip, deflate, br, zstd', 'br'],
        ['gzip', 'gzip'],
        ['br;q=0, gzip', 'gzip'],
      ] as const) {
        const encoded = await get(file, { 'accept-encoding': accepted })
        expect(encoded.headers.get('content-encoding'), `${file} ${accepted}`).to.equal(encoding)
        expect(await encoded.text(), file).to.equal(whole)
      }
    }
  })

  it('answers 404 where a file is missing, and does not send the page instead', async () => {
    for (const target of ['/console/assets/gone-1234.js', '/console/assets/', '/console/assets', '/consoles'])
      expect((await get(target)).status, target).to.equal(404)
    const [script = ''] = /\/console\/assets\/[^"]+\.js/.exec(page) ?? []
    for (const target of [
      `${script}.br`,
      `${script}/../../index.html.gz`,
      '/console/assets/%2e%2e/index.html',
    ])
      expect(await (await get(target)).text(), target).to.not.include('import')
  })

  it('takes no other method', async () => {
    expect((await fetch(`${tally.url}/console`, { method: 'POST' })).status).to.equal(404)
    expect((await fetch(`${tally.url}/console`, { method: 'HEAD' })).status).to.equal(200)
  })

  it('is where a browser goes from the root, and no other client', async () => {
    const sent = await get('/', BROWSER)
    expect([sent.status, sent.headers.get('location')]).to.deep.equal([302, '/console'])
    expect((await get('/')).status).to.equal(404)
    expect((await get('/', { accept: 'application/json' })).status).to.equal(404)
    expect((await get('/v2/nothing', BROWSER)).status).to.equal(404)
  })

  it('is not there when it is off', async () => {
    const settingOf = (env: Record<string, string>) => readApiConfig(new EnvReader(env)).servesConsole
    expect([settingOf({}), settingOf({ CONSOLE: 'on' }), settingOf({ CONSOLE: 'off' })]).to.deep.equal([
      true,
      true,
      false,
    ])
    const api = await startApi('without_console')
    try {
      if (api.inside === undefined) return // a process of its own has it
      const { url } = (await api.newCaller()).api
      for (const target of ['/console', '/console/accounts', '/']) {
        const answer = await fetch(url + target, { headers: BROWSER })
        expect([answer.status, await answer.text()], target).to.deep.equal([404, 'not found'])
      }
    } finally {
      await api.stop()
    }
  })
})

describe('the console of a folder', () => {
  const opened: HttpServer[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((server) => server.close()))
  })

  const serve = async (folder: string): Promise<string> => {
    const app = express().use(...serveConsole(folder), errorResponder(testLog))
    const server = await listen(app, {
      name: 'it',
      host: '127.0.0.1',
      port: 0,
      portSetting: 'none',
      closeTimeoutMs: 100,
    })
    opened.push(server)
    return `http://127.0.0.1:${server.port}`
  }

  it('says so when it is not built', async () => {
    const url = await serve(path.join(await makeTempFolder('console'), 'nothing'))
    for (const target of ['/console', '/console/accounts']) {
      const answer = await fetch(url + target)
      expect([answer.status, await answer.text()]).to.deep.equal([
        404,
        'the console is not built: npm run build',
      ])
    }
  })

  it('is read once, so that an upgrade on the disk does not mix old files and new ones', async () => {
    const folder = await makeTempFolder('console')
    await mkdir(path.join(folder, 'assets'))
    await writeFile(path.join(folder, 'index.html'), 'old')
    await writeFile(path.join(folder, 'assets/a.js'), 'old')
    const url = await serve(folder)
    await writeFile(path.join(folder, 'index.html'), 'new')
    await writeFile(path.join(folder, 'assets/a.js'), 'new')
    expect(await (await fetch(`${url}/console`)).text()).to.equal('old')
    expect(await (await fetch(`${url}/console/assets/a.js`)).text()).to.equal('old')
  })
})
