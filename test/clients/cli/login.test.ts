import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { CALLER, type FakeTally, runTally, startFakeTally } from './run-tally.ts'

const KEY = 'tally_live_0123456789abcdef'
const MAIN = path.join(PROJECT_ROOT, 'dist/clients/cli/src/tally.main.js')

describe('tally login', function () {
  this.timeout(20_000)
  let fake: FakeTally
  let folder: string
  let env: Record<string, string>

  beforeEach(async () => {
    fake = await startFakeTally((req, res) => {
      if (req.headers['x-api-key'] === KEY)
        res.setHeader('Content-Type', 'application/json').end(JSON.stringify(CALLER))
      else res.writeHead(401).end('the key is not valid')
    })
    folder = await makeTempFolder('login')
    env = { XDG_CONFIG_HOME: folder }
  })
  afterEach(() => fake.end())

  const files = async () => {
    const names = await readdir(folder, { recursive: true, withFileTypes: true })
    return names.filter((one) => one.isFile()).map((one) => path.join(one.parentPath, one.name))
  }

  it('shows the key to nobody: not as an argument, in the environment, in output or to other users', async () => {
    const script = 'umask 0 && exec "$0" "$@"'
    const words = [process.execPath, MAIN, 'login', '--url', fake.url]
    const child = spawn('sh', ['-c', script, ...words], {
      env: { PATH: process.env['PATH'], XDG_CONFIG_HOME: folder },
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stdin.write(KEY.slice(0, 8))
    const shown: string[] = []
    const look = async () => {
      for (const name of ['cmdline', 'environ'])
        shown.push(await readFile(`/proc/${child.pid ?? 0}/${name}`, 'utf8').catch(() => ''))
    }
    await look()
    child.stdin.end(`${KEY.slice(8)}\n`)
    const ended = once(child, 'close')
    while (child.exitCode === null) await Promise.race([look(), ended])
    await ended
    expect(child.exitCode).to.equal(0)
    expect(shown.join()).to.include('login').and.not.include(KEY)
    expect(output).to.include('key first key of the live company Acme Cloud').and.not.include(KEY)
    const written = await files()
    expect(written.map((file) => path.relative(folder, file).replace(/-[0-9a-f]+$/, ''))).to.have.members([
      'tally/keys/default',
      'tally/profiles.json',
    ])
    for (const file of written) expect((await stat(file)).mode & 0o777, file).to.equal(0o600)
    for (const inner of ['tally', 'tally/keys'])
      expect((await stat(path.join(folder, inner))).mode & 0o777).to.equal(0o700)
    expect(await readFile(path.join(folder, 'tally/profiles.json'), 'utf8')).not.to.include(KEY)
  })

  it('reads the key of a terminal without an echo', async () => {
    const { code, err } = await runTally(['login', '--url', fake.url], { env, typed: `x\u007f${KEY}\r` })
    expect(code).to.equal(0)
    expect(err).to.include(`API key for ${fake.url}: `).and.not.include(KEY)
    const [file = ''] = (await files()).filter((one) => one.includes('/keys/default-'))
    expect(await readFile(file, 'utf8')).to.equal(`${KEY}\n`)
    const stopped = await runTally(['login', '--url', fake.url], { env, typed: '\u0003' })
    expect(stopped.code).to.equal(130)
  })

  it('keeps nothing of a key that Tally refuses', async () => {
    const { code, err } = await runTally(['login', '--url', fake.url], { env, input: 'tally_live_wrong' })
    expect(code).to.equal(1)
    expect(err).to.match(/^tally: the key is not valid .*tally login\n$/)
    expect(await files()).to.deep.equal([])
  })

  it('keeps profiles by name, and names the file of a key that is in one', async () => {
    await runTally(['login', '--url', fake.url], { env, input: KEY })
    const [own = ''] = (await files()).filter((file) => file.includes('/keys/default-'))
    await runTally(['login', '--url', `${fake.url}/`, '--key-file', own, '--profile', 'ci'], { env })
    const { out } = await runTally(['profiles'], { env })
    const profiles = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    const profile = { url: fake.url, company: 'Acme Cloud', mode: 'live', key_file: own }
    expect(profiles).to.deep.equal([
      { name: 'default', ...profile },
      { name: 'ci', ...profile },
    ])
    expect((await runTally(['logout', '--profile', 'ci'], { env })).code).to.equal(0)
    expect(await files()).to.include(own)
    expect((await runTally(['logout'], { env })).code).to.equal(0)
    expect(await files()).not.to.include(own)
    expect((await runTally(['logout'], { env })).code).to.equal(1)
  })

  it('never gives a profile the key of another address, not for a moment', async () => {
    await runTally(['login', '--url', fake.url], { env, input: KEY })
    const [before = ''] = (await files()).filter((file) => file.includes('/keys/'))
    await runTally(['login', '--url', `${fake.url}/`], { env, input: KEY })
    const after = (await files()).filter((file) => file.includes('/keys/'))
    expect(after).to.have.length(1).and.not.include(before)
  })

  it('gives programs the address and the key that stand before or behind their names', async () => {
    await runTally(['login', '--url', fake.url], { env, input: KEY })
    const other = await startFakeTally((_, res) => res.writeHead(401).end())
    const file = path.join(folder, 'key')
    await writeFile(file, 'tally_live_other\n')
    const words = ['simulate', '--key-file', file, '--retry-for', '0']
    for (const given of [
      ['--url', other.url, ...words],
      [...words, '--url', other.url],
    ]) {
      const { code, err } = await runTally(given, { env: { ...env, DATA_DIR: folder } })
      expect(code, err).to.equal(1)
      expect(err).to.include(other.url)
    }
    await writeFile(path.join(folder, 'api-key'), 'tally_live_of_the_folder\n')
    const refused = await runTally(['simulate', '--url', other.url], { env: { ...env, DATA_DIR: folder } })
    expect(refused.err).to.include(`there is no key for ${other.url}`)
    await other.end()
  })

  it('sends the key of a profile to the address of that profile only', async () => {
    await runTally(['login', '--url', fake.url], { env, input: KEY })
    const other = await startFakeTally((_, res) => res.writeHead(401).end())
    for (const given of [{ ...env, TALLY_URL: other.url }, env]) {
      const options = given === env ? ['--url', other.url] : []
      for (const command of [
        ['caller', 'get'],
        ['simulate', '--events', '1', '--rate', '1', '--retry-for', '0'],
      ]) {
        const { code, err } = await runTally([...options, ...command], { env: given })
        expect(code).to.equal(1)
        expect(err).to.include(`there is no key for ${other.url}`)
      }
    }
    expect(other.requests).to.deep.equal([])
    await other.end()
    const before = fake.requests.length
    for (const given of [env, { ...env, TALLY_URL: `${fake.url}/` }, { ...env, TALLY_PROFILE: 'default' }])
      expect((await runTally(['caller', 'get'], { env: given })).code).to.equal(0)
    // A profile that is named is more than the environment.
    const named = { ...env, TALLY_URL: 'http://127.0.0.1:9', TALLY_API_KEY: 'other' }
    expect((await runTally(['caller', 'get', '--profile', 'default'], { env: named })).code).to.equal(0)
    expect(fake.requests.slice(before).map(({ key }) => key)).to.deep.equal([KEY, KEY, KEY, KEY])
  })

  it('sends TALLY_API_KEY to the address in TALLY_URL only, if there is one', async () => {
    const both = { ...env, TALLY_URL: 'http://127.0.0.1:9', TALLY_API_KEY: KEY }
    const elsewhere = await runTally(['caller', 'get', '--url', fake.url], { env: both })
    expect([elsewhere.code, elsewhere.out]).to.deep.equal([1, ''])
    expect(elsewhere.err).to.match(/^tally: there is no key for /)
    const { code } = await runTally(['caller', 'get', '--url', fake.url], {
      env: { ...env, TALLY_API_KEY: KEY },
    })
    expect(code).to.equal(0)
  })

  it('takes the key of the test company in the folder for made-up usage, and needs none for a dry run', async () => {
    await writeFile(path.join(folder, 'api-address'), new URL(fake.url).host)
    await writeFile(path.join(folder, 'api-key'), 'tally_live_folder')
    await writeFile(path.join(folder, 'test-api-key'), 'tally_test_folder')
    const words = ['simulate', '--events', '1', '--rate', '1', '--retry-for', '0']
    const { out, err } = await runTally(words, { env: { ...env, DATA_DIR: folder } })
    expect(out).to.include('for a test company')
    expect(err).to.include('test-api-key (401)')
    expect(new Set(fake.requests.map(({ key }) => key))).to.deep.equal(new Set(['tally_test_folder']))
    const file = path.join(folder, 'usage.csv')
    await writeFile(file, 'at,quantity\n2026-01-02,3\n')
    const columns = ['--time', 'at', '--quantity', 'quantity=tokens', '--account', 'acme']
    expect((await runTally(['import', '--file', file, ...columns, '--dry-run'], { env })).code).to.equal(0)
    expect((await runTally(['preview', '--at', 'soon'], { env })).code).to.equal(2)
  })

  it('warns of an address over which others can read the key', async () => {
    const controller = new AbortController()
    const running = runTally(['login', '--url', 'http://tally.invalid'], {
      env,
      input: KEY,
      signal: controller.signal,
    })
    controller.abort()
    expect((await running).err).to.include('is not https: everybody on the way can read the key')
  })
})
