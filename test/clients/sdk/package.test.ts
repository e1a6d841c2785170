import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

const run = promisify(execFile)
const FILES = path.join(PROJECT_ROOT, 'test/clients/sdk/package')
const BYTES_MAX = 400_000

/** The TypeScript of attw, which is older than the project's. */
const OLD_TSC = createRequire(
  createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json'),
).resolve('@arethetypeswrong/core')

/** Each Node on the PATH, once for each version. */
async function everyNode(): Promise<Map<string, string>> {
  const found = new Map([[process.version, process.execPath]])
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const node = path.join(folder, 'node')
    const version = await run(node, ['--version']).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    )
    if (version !== undefined && !found.has(version) && Number(/\d+/.exec(version)?.[0]) >= 20)
      found.set(version, node)
  }
  return found
}

describe('the package of the SDK', function () {
  this.timeout(120_000)
  let folder: string
  let tarball: string

  before(async () => {
    folder = await makeTempFolder('sdk-package')
    await run('npm', ['pack', '-w', 'clients/sdk', '--pack-destination', folder], { cwd: PROJECT_ROOT })
    const [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.tgz'))
    tarball = path.join(folder, name)
    await writeFile(path.join(folder, 'package.json'), '{ "private": true }')
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder })
    await cp(FILES, folder, { recursive: true })
  })
  after(() => rm(folder, { recursive: true }))

  const inFolder = (node: string, ...args: string[]) => run(node, args, { cwd: folder })

  /** @throws Error with what the compiler says */
  const compile = (tsc: string, project: string) =>
    inFolder(process.execPath, tsc, '-p', project).catch((err: unknown) => {
      throw new Error((err as { stdout: string }).stdout, { cause: err })
    })

  it('is small, and needs no other package', async () => {
    expect((await stat(tarball)).size).to.be.below(BYTES_MAX)
    const installed = await readdir(path.join(folder, 'node_modules'))
    expect(installed.filter((name) => !name.startsWith('.'))).to.deep.equal(['@tally-metering'])
    const files = await readdir(path.join(folder, 'node_modules/@tally-metering/sdk'))
    expect(files).to.have.members(['LICENSE', 'README.md', 'dist', 'package.json'])
  })

  it('has the reporter as a part of its own', async () => {
    const { stdout } = await inFolder(
      process.execPath,
      '--input-type=module',
      '-e',
      `import { Tally } from '@tally-metering/sdk'
      import { UsageReporter } from '@tally-metering/sdk/reporter'
      const usage = new UsageReporter(new Tally({ url: 'http://127.0.0.1:9', apiKey: 'tally_test_k' }))
      console.log(usage.stats().queuedEvents, await usage.close())`,
    )
    expect(stdout).to.equal('0 { accepted: 0, kept: 0, rejected: 0 }\n')
  })

  it('says its version', async () => {
    const read = async (file: string) =>
      (JSON.parse(await readFile(path.join(PROJECT_ROOT, file), 'utf8')) as { version: string }).version
    expect(await read('clients/sdk/package.json')).to.equal(await read('package.json'))
  })

  it('is imported and required by each Node that is there', async () => {
    const nodes = await everyNode()
    const use = `const tally = new Tally({ url: 'http://tally.test', apiKey: 'k' }); console.log(decimals.add('0.1', '0.2'), tally.url)`
    for (const [version, node] of nodes) {
      const imported = await inFolder(
        node,
        '--input-type=module',
        '-e',
        `import { decimals, Tally } from '@tally-metering/sdk'; ${use}`,
      )
      expect(imported.stdout, version).to.equal('0.3 http://tally.test\n')
      const required = await inFolder(
        node,
        '-e',
        `const { decimals, Tally } = require('@tally-metering/sdk'); ${use}`,
      )
      expect(required.stdout, version).to.equal('0.3 http://tally.test\n')
    }
  })

  it('has a build for other runtimes, which needs only what they all have', async () => {
    const body = '{"type":"a"}'
    const time = String(Math.floor(Date.now() / 1_000))
    const signature = createHmac('sha256', 'secret').update(`msg.${time}.${body}`).digest('base64')
    const webhook = JSON.stringify({ body, time, signature: `v1,${signature}`, secret: 'whsec_c2VjcmV0' })
    const { stdout } = await inFolder(
      process.execPath,
      '--experimental-vm-modules',
      'other-runtime.mjs',
      webhook,
    )
    expect(JSON.parse(stdout)).to.deep.equal({
      sent: ['POST http://tally.test/v2/events', 'POST http://tally.test/v2/events'],
      id: 'event_1',
      webhook: { type: 'a' },
    })
  })

  it('has types for strict programs, and for loose ones with an older TypeScript', async () => {
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
    await compile(tsc, 'tsconfig.strict.json')
    const old = createRequire(OLD_TSC)
    expect((old('typescript/package.json') as { version: string }).version).to.match(/^5\.6\./)
    await compile(old.resolve('typescript/bin/tsc'), 'tsconfig.loose.json')
  })
})
