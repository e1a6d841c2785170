import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { type FakeTally, runTally, startFakeTally } from './run-tally.ts'

const ACCOUNT = `account_${'0'.repeat(32)}`

/** Answers with the status that the account's name in the path says. */
function answerAsAsked(url: string, res: ServerResponse): void {
  const status = Number(/status-(\d+)/.exec(url)?.[1] ?? 200)
  if (url.includes('/status-0')) res.destroy()
  else if (url.includes('/never')) return
  else if (url.includes('/login-page')) res.setHeader('Content-Type', 'text/html').end('<p>log in</p>')
  else if (status === 200) res.setHeader('Content-Type', 'application/json').end(`{"id":"${ACCOUNT}"}`)
  else res.writeHead(status, { 'Content-Type': 'text/plain' }).end('first line\nsecond line')
}

describe('the exit code of tally', function () {
  this.timeout(20_000)
  let fake: FakeTally
  let env: Record<string, string>

  before(async () => {
    fake = await startFakeTally((req, res) => {
      answerAsAsked(req.url ?? '', res)
    })
    env = { TALLY_URL: fake.url, TALLY_API_KEY: 'tally_live_key' }
  })
  after(() => fake.end())

  const get = (name: string) => runTally(['accounts', 'get', name], { env })

  it('is 0 when the answer is there', async () => {
    const { code, out, err } = await get('status-200')
    expect([code, out, err]).to.deep.equal([0, `{"id":"${ACCOUNT}"}\n`, ''])
  })

  it('is 1 when Tally refused, with its text and what to do, in one line', async () => {
    const nexts: Record<number, RegExp> = { 400: /; see --help$/, 401: /tally login$/, 403: /--key-file$/ }
    for (const status of [400, 401, 403, 409, 413, 415, 422]) {
      const { code, out, err } = await get(`status-${status}`)
      expect(code, String(status)).to.equal(1)
      expect(out).to.equal('')
      expect(err).to.match(/^tally: first line; second line \(getAccount\).*\n$/)
      expect(err.trimEnd()).to.match(nexts[status] ?? /\(getAccount\)$/)
    }
  })

  it('is 2 without a command, and the help is shown', async () => {
    for (const args of [[], ['grants']]) {
      const { code, err } = await runTally(args, { env })
      expect([code, err.trimEnd().split('\n').at(-1)]).to.deep.equal([
        2,
        'tally: a command is missing; see above',
      ])
    }
  })

  it('says that something else answered, when a proxy knows no such path', async () => {
    const { err } = await runTally(['balance', 'status-404', 'currency:usd'], { env })
    expect(err).to.match(
      /^tally: the answer is not Tally's: its status is 404, .*; check the address: --url\n$/,
    )
  })

  it('is 1 when something else than Tally answered', async () => {
    const { code, err } = await get('login-page')
    expect(code).to.equal(1)
    expect(err).to.match(/^tally: the answer is not Tally's: .*; check the address: --url\n$/)
  })

  it('is 1 without an address, without a key, and for a key file that is not there', async () => {
    const runs: [Record<string, string>, string[], RegExp][] = [
      [{}, [], /not logged in: run tally login/],
      [{ TALLY_URL: fake.url }, [], /there is no key for .*: run tally login/],
      [env, ['--key-file', '/nowhere/key'], /cannot read the key: /],
      [env, ['--profile', 'none'], /there is no profile none: run tally login/],
    ]
    for (const [given, options, says] of runs) {
      const { code, err } = await runTally(['accounts', 'get', 'a', ...options], { env: given })
      expect(code, String(says)).to.equal(1)
      expect(err)
        .to.match(says)
        .and.match(/^[^\n]+\n$/)
    }
  })

  it('is 2 when the words are wrong, and nothing is sent', async () => {
    const before = fake.requests.length
    const runs: [string[], RegExp][] = [
      [['acounts'], /unknown command 'acounts'.*accounts/],
      [['accounts', 'lst'], /unknown command 'lst'.*list/],
      [['accounts', 'get'], /missing required argument 'account_id'/],
      [['accounts', 'get', ''], /account_id: "" is not an id/],
      [['accounts', 'get', '..'], /account_id: "\.\." is not an id/],
      [['accounts', 'list', '--limt', '1'], /unknown option '--limt'.*--limit/],
      [['accounts', 'list', '--limit', '1e2'], /--limit: "1e2" is not a whole number/],
      [['accounts', 'list', '--is-archived', 'yes'], /--is-archived: "yes" is not true or false/],
      [['accounts', 'create'], /missing: --name/],
      [['accounts', 'create', '--name', 'a', '--body', '-'], /--body has the whole body/],
      [['accounts', 'update', ACCOUNT], /nothing to send/],
      [['accounts', 'update', ACCOUNT, '--unset', 'name'], /name: this field cannot be null/],
      [['grants', 'list', '--status', 'new'], /argument 'new' is invalid/],
      [['api-keys', 'create', '--name', 'a', '--permissions', 'all'], /"all" is not one of read:all/],
      [['accounts', 'usage-daily', ACCOUNT, '--start-at', 'soon', '--end-at', '9'], /"soon" is not a time/],
      [['api', 'listAcounts'], /there is no operation "listAcounts"; tally api lists all/],
      [['api', 'getAccount'], /missing: -F account_id=/],
      [['api', 'getAccount', '-F', `account_id=${ACCOUNT}`, '-F', 'x=1'], /has no field x/],
      [['api', 'getAccount', '-F', `account_id=${ACCOUNT}`, '--all-pages'], /has no pages/],
      [['api', 'createAccount', '-F', 'name'], /write it as name=value/],
      [['report', ACCOUNT, 'tokens', '1,5'], /"1,5" is no amount/],
      [['balance', '', 'tokens'], /ACCOUNT: "" is not an id/],
      [['login', '--url', 'tally.example.com'], /must start with http:/],
      [['login', '--url', 'https://a:b@tally.example.com'], /must not contain a password/],
      [['login', '--profile', '../x', '--url', fake.url], /use letters, digits/],
      [['import', '--speed', '9'], /Unknown option '--speed'/],
    ]
    for (const [args, says] of runs) {
      const { code, out, err } = await runTally(args, { env })
      expect(code, args.join(' ')).to.equal(2)
      expect(out).to.equal('')
      expect(err, args.join(' '))
        .to.match(says)
        .and.match(/^tally: [^\n]+ ?see --help\n$/)
    }
    const { code } = await runTally(['accounts', 'create', '--body', '-'], { env, input: '{"name":' })
    expect(code).to.equal(2)
    expect(fake.requests.length).to.equal(before)
  })

  it('is 75 when the same command may succeed later', async () => {
    const names = [
      'status-0',
      'status-408',
      'status-429',
      'status-500',
      'status-502',
      'status-503',
      'status-504',
    ]
    const ends = await Promise.all(names.map(get))
    for (const [index, { code, out, err }] of ends.entries()) {
      expect(code, names[index]).to.equal(75)
      expect(out).to.equal('')
      expect(err).to.match(/^tally: .*3 attempts\); try again later\n$/)
    }
  })

  it('is 130 when it is interrupted', async () => {
    const controller = new AbortController()
    const running = runTally(['accounts', 'get', 'never'], { env, signal: controller.signal })
    setTimeout(() => {
      controller.abort()
    }, 100)
    expect((await running).code).to.equal(130)
  })
})
