import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { listen } from '../../../shared/http/http-server.ts'
import { AUTHORIZATION, PASSWORD, USER } from '../../support/analysts.ts'
import { runProgram } from '../../support/by-hand.ts'
import { type AnalystHost, startAnalystHost } from '../../support/start-analyst-host.ts'

describe('npm run doctor -- --analysts', function () {
  this.timeout(120_000)
  let host: AnalystHost

  // Why a separate engine: the analysts' role sees the views of all databases in the engine, including those of other
  // tests.
  before(async () => {
    host = await startAnalystHost()
  })
  after(async () => {
    await host.stop()
  })

  /** The doctor's exit code and output, without a Tally that runs in its folder. */
  const doctor = (words: string[], env: Record<string, string> = {}) =>
    runProgram('operator/main', { DATA_DIR: '/nowhere', ...env }, 'doctor', ...words)
  const urlWith = (user: string, password: string, url = host.url) => {
    const found = new URL(url)
    found.username = user
    found.password = encodeURIComponent(password)
    return found.toString()
  }

  it('finds nothing at the endpoint of a Tally', async () => {
    const { code, output } = await doctor(['--strict', '--analysts', urlWith(USER, PASSWORD)])
    expect(code, output).to.equal(0)
    expect(output).to.match(/^ok {7}analysts: other tables: (\d\d) of \1 attempts refused$/m)
    expect(output).to.match(/^ok {7}analysts: what comes in the URL: (\d\d) of \1 attempts refused$/m)
    expect(output).to.match(/^everything is as it should be$/m)
    const attempts = [...output.matchAll(/(\d+) attempts refused/g)].map(([, count]) => Number(count))
    expect(attempts.reduce((sum, count) => sum + count)).to.be.greaterThan(300)
  })

  it('takes user and password from the environment, and never prints them', async () => {
    const env = { CLICKHOUSE_USER: USER, CLICKHOUSE_PASSWORD: 'wrong' }
    const { code, output } = await doctor(['--analysts', host.url], env)
    expect(code).to.equal(1)
    expect(output).to.match(/^analyst is not let in, so nothing was tried: .*Authentication failed/m)
    expect(output).to.not.contain('wrong')
    const alone = await doctor(['--analysts', host.url])
    expect(alone.code).to.equal(2)
    expect(alone.output).to.contain('CLICKHOUSE_PASSWORD')
    expect((await doctor(['--analysts', 'nowhere'])).code).to.equal(2)
    const away = await doctor(['--analysts', 'http://u:secret@127.0.0.1:9'])
    expect(away.code).to.equal(1)
    expect(away.output).to.match(/^http:\/\/127\.0\.0\.1:9\/ does not answer/)
  })

  it('finds what a user can do who is not judged, and changes nothing', async () => {
    const { code, output } = await doctor(['--analysts', urlWith('trial', 'a secret of trials')])
    expect(code).to.equal(1)
    for (const found of [
      'sees the database tally',
      "let through: SELECT file('/etc/passwd')",
      'let through: SELECT * FROM tally.usage_events',
      "let through: SELECT * FROM file('/etc/passwd', 'LineAsString')",
      'let through: SHOW TABLES FROM tally',
    ])
      expect(output.split('\n')).to.include(`failed   analysts: ${found.replace(/^sees/, 'trial sees')}`)
    expect(output).to.not.match(/: (?:DROP|INSERT|ALTER|KILL|SYSTEM|TRUNCATE|SET) /)
    const again = await doctor(['--analysts', urlWith(USER, PASSWORD)])
    expect(again.code, again.output).to.equal(0)
  })

  describe('behind a proxy with one hole', () => {
    let server: Awaited<ReturnType<typeof listen>>
    let hole: string

    before(async () => {
      const proxy: RequestListener = (req, res) => {
        void (async () => {
          const query = await text(req)
          if (query === hole) {
            res.end('yes\n')
            return
          }
          const answer = await fetch(host.url + (req.url ?? ''), {
            method: 'POST',
            body: query,
            headers: { authorization: AUTHORIZATION },
          })
          const code = answer.headers.get('x-clickhouse-exception-code')
          res.writeHead(answer.status, code === null ? {} : { 'X-ClickHouse-Exception-Code': code })
          res.end(await answer.text())
        })()
      }
      server = await listen(proxy, {
        name: 'a proxy with a hole',
        host: '127.0.0.1',
        port: 0,
        portSetting: '',
        closeTimeoutMs: 1_000,
        headerBytesMax: 1 << 20,
      })
    })
    after(async () => {
      await server.close()
    })

    const look = (words: string[] = []) =>
      doctor([...words, '--analysts', urlWith(USER, PASSWORD, `http://127.0.0.1:${server.port}`)])

    it('finds it', async () => {
      hole = 'SELECT * FROM tally.rollup_epochs'
      const { code, output } = await look()
      expect(code).to.equal(1)
      expect(output.match(/^(?:failed|warning) .*/gm)).to.deep.equal([
        `failed   analysts: let through: ${hole}`,
      ])
    })

    it('warns of what a ClickHouse server allows to all users', async () => {
      hole = 'SELECT hostName()'
      const { code, output } = await look()
      expect(code, output).to.equal(0)
      expect(output.match(/^(?:failed|warning) .*/gm)).to.deep.equal([
        `warning  analysts: let through: ${hole}`,
      ])
      expect((await look(['--strict'])).code).to.equal(1)
    })
  })
})
