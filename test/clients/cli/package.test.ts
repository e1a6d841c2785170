import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { CALLER, type FakeTally, startFakeTally } from './run-tally.ts'

const run = promisify(execFile)
const BYTES_MAX = 300_000
/** By the beginning of a target. */
const ANSWERS = {
  '/v2/accounts/external-id/': { id: `account_${'0'.repeat(32)}`, name: 'Acme', external_id: 'acme' },
  '/v2/metrics/external-id/': { id: `metric_${'0'.repeat(32)}`, name: 'tokens', external_id: 'tokens' },
  '/v2/metrics': { data: [], has_more: false },
  '/v2/events/batch': { accepted: 2, event_ids: ['event_1', 'event_2'] },
}

interface Manifest {
  version: string
  bin: { tally: string }
  dependencies: Record<string, string>
}

describe('the package of the command line', function () {
  this.timeout(120_000)
  let folder: string
  let modules: string
  let tarball: string
  let manifest: Manifest
  let fake: FakeTally

  before(async () => {
    folder = await makeTempFolder('cli-package')
    modules = path.join(folder, 'node_modules')
    const [sdk, cli] = ['sdk', 'cli'].map((name) => path.join(modules, '@tally-metering', name)) as [
      string,
      string,
    ]
    await mkdir(sdk, { recursive: true })
    await mkdir(cli)
    // Why not packed: another file packs it, perhaps now, and each would delete what the other builds.
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
    const source = path.join(PROJECT_ROOT, 'clients/sdk')
    const built = [tsc, '-p', path.join(source, 'tsconfig.build.json'), '--outDir', path.join(sdk, 'dist')]
    await run(process.execPath, [...built, '--declaration', 'false'])
    await cp(path.join(source, 'package.json'), path.join(sdk, 'package.json'))
    await run('npm', ['pack', '-s', '-w', 'clients/cli', '--pack-destination', folder], { cwd: PROJECT_ROOT })
    tarball = path.join(folder, `tally-metering-cli-0.1.0.tgz`)
    await run('tar', ['-xzf', tarball, '-C', cli, '--strip-components', '1'])
    manifest = await readManifest(path.join(modules, '@tally-metering/cli/package.json'))
    // The packages of others come from this project. A registry would be a network.
    for (const name of Object.keys(manifest.dependencies))
      if (!name.startsWith('@tally-metering/'))
        await symlink(path.join(PROJECT_ROOT, 'node_modules', name), path.join(modules, name))
    fake = await startFakeTally((req, res) => {
      const answer = Object.entries(ANSWERS).find(([start]) => req.url?.startsWith(start))?.[1]
      res.writeHead(req.method === 'POST' ? 202 : 200, { 'Content-Type': 'application/json' })
      res.end(JSON.stringify(answer ?? CALLER))
    })
  })
  after(async () => {
    await fake.end()
    await rm(folder, { recursive: true })
  })

  const readManifest = async (file: string) => JSON.parse(await readFile(file, 'utf8')) as Manifest
  const tally = (...words: string[]) =>
    run(process.execPath, [path.join(modules, '@tally-metering/cli', manifest.bin.tally), ...words], {
      cwd: folder,
      env: { TALLY_URL: fake.url, TALLY_API_KEY: 'key', XDG_CONFIG_HOME: folder },
    })

  it('is small, has only what runs, and takes the SDK from its package', async () => {
    expect((await stat(tarball)).size).to.be.below(BYTES_MAX)
    const files = await readdir(path.join(modules, '@tally-metering/cli'), { recursive: true })
    expect(files).to.include.members(['LICENSE', 'README.md', 'package.json', manifest.bin.tally])
    expect(files.filter((file) => /\.ts$|\.map$/.test(file))).to.deep.equal([])
    expect(files.filter((file) => file.startsWith('dist/clients/sdk'))).to.deep.equal([])
  })

  it('runs where nothing else is', async () => {
    expect((await tally('--version')).stdout).to.equal(`${manifest.version}\n`)
    expect(JSON.parse((await tally('caller', 'get')).stdout)).to.deep.equal(CALLER)
    for (const name of ['simulate', 'preview', 'simulate-prices', 'export'])
      expect((await tally(name, '--help')).stdout, name).to.match(/^usage: tally /m)
    await writeFile(path.join(folder, 'usage.csv'), 'at,quantity\n2026-01-02,3\n2026-01-02,4\n')
    const columns = ['--time', 'at', '--quantity', 'quantity=tokens', '--account', 'acme']
    await tally('import', '--file', 'usage.csv', ...columns)
    expect(fake.requests.map(({ target }) => target)).to.include('POST /v2/events/batch')
  })

  it('is of the version of the project, with its dependencies', async () => {
    const project = await readManifest(path.join(PROJECT_ROOT, 'package.json'))
    expect(manifest.version).to.equal(project.version)
    for (const [name, version] of Object.entries(manifest.dependencies))
      if (name === '@tally-metering/sdk') expect(version).to.equal(project.version)
      else if (name !== 'commander') expect(version, name).to.equal(project.dependencies[name])
  })
})
