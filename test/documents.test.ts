import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { access, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { IMPORT_HELP } from '../clients/reporter/import/import-help.ts'
import { readApiServiceConfig } from '../services/api/config.ts'
import { readGatewayServiceConfig } from '../services/gateway/config.ts'
import { readLoaderServiceConfig } from '../services/loader/config.ts'
import { readRefillServiceConfig } from '../services/refill/config.ts'
import { readRollupServiceConfig } from '../services/rollup/config.ts'
import { readStandaloneConfig } from '../services/standalone/config.ts'
import { EnvReader } from '../shared/config/env-reader.ts'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { settingsMarkdown } from '../shared/config/settings-table.ts'
import { listOperations, readOpenApiDocument } from '../shared/http/openapi-document.ts'
import { importWith } from './clients/core/run-program.ts'
import { skipFor } from './run/pending.ts'
import { ApiClient } from './support/api-client.ts'
import { type RunningTally, startTally } from './support/start-tally.ts'
import { makeWorld } from './support/usage-world.ts'

/** The documents whose commands are run, in this order, in one shell. */
const TOURS = ['README.md', 'docs/guides/sandbox.md', 'docs/guides/corrections.md']

/** The client, as it was built with the project. */
const SDK = pathToFileURL(path.join(PROJECT_ROOT, 'dist/clients/sdk/src/node.js')).href

/** Words that are hard for a reader whose first language is not English, each with better words. */
const BETTER_WORDS: ReadonlyMap<string, string> = new Map([
  ['told', 'said, answered, reported'],
  ['told apart', 'distinguished, split'],
  ['whoever', 'anyone who, if you'],
  ['anew', 'again'],
  ['heeded', 'applied, considered'],
  ['of whom', 'a sentence of its own'],
  ['who comes', 'the next caller, the next request'],
  ['as often as one likes', 'several of each, several times'],
])

describe('documents', function () {
  this.timeout(120_000)
  const read = (name: string) => readFile(path.join(PROJECT_ROOT, name), 'utf8')
  let all: Map<string, string>

  before(async () => {
    const names = [...(await readdir(PROJECT_ROOT)), ...(await listUnder('docs'))]
    const documents = names.filter((name) => name.endsWith('.md'))
    all = new Map(await Promise.all(documents.map(async (name) => [name, await read(name)] as const)))
  })

  const textOf = (name: string): string => all.get(name) ?? ''

  describe('the tour', () => {
    let tally: RunningTally

    // Why a separate Tally: the commands are for the companies and the folder of a new installation.
    before(async function () {
      for (const program of ['bash', 'curl'])
        if (spawnSync(program, ['--version']).status !== 0) skipFor(this, `${program} is not on the PATH`)
      tally = await startTally()
    })
    after(() => (tally as RunningTally | undefined)?.discard())

    it('runs as it stands, command by command, shows what it says, and can be run again', async () => {
      const blocks = TOURS.flatMap((name) => {
        const found = [...textOf(name).matchAll(/<!-- tour -->\n\n?```sh\n([^]*?)```/g)]
        expect(found, name).to.have.length.above(0)
        return found.map(([, commands = '']) => commands)
      })
      expect(blocks.length).to.be.greaterThan(10)
      const script = ['set -euo pipefail', ...blocks]
        .join('\n')
        .replaceAll('http://127.0.0.1:8080', tally.url)
        .replaceAll('http://127.0.0.1:8123', tally.analystUrl)
        .replaceAll('.data/', `${tally.dataFolder}/`)
      const { code, output } = await bash(script, { DATA_DIR: tally.dataFolder })
      expect(code, output).to.equal(0)
      expect(output).to.contain('"grant_total":"10000","usage_total":"4808.3","balance":"5191.7"')
      expect(output).to.contain('"accepted":3')
      expect(output).to.match(
        /"subtotal":"49\.01".*"total":"49\.01".*"unrated":\[{"metric_id":null,"currency":"usd","event_count":1,"quantity":"1\.25"}]/,
      )
      expect(output).to.match(/"occurrence":1,"amount":"4808\.3",.*"balance":"5191\.7"/)
      expect(output).to.match(/"quantity":"4808"}.*"quantity":"1\.25"/) // the largest of each source
      expect(output).to.match(/│ metric_\w+ │ ᴺᵁᴸᴸ +│ +4808\.3 │ +3 │/)
      expect(output).to.contain('everything adds up')
      const ids =
        output.match(/"id":"event_\w+","metric_id":"metric_\w+","currency":null,"quantity":"4808"/g) ?? []
      expect(new Set(ids.slice(0, 3)).size).to.equal(1)
      const again = await bash(script, { DATA_DIR: tally.dataFolder })
      expect(again.code, again.output).to.equal(0)
      const args = [
        ...importExample(IMPORT_HELP),
        '--url',
        tally.url,
        '--key-file',
        `${tally.dataFolder}/api-key`,
      ]
      const file = path.join(tally.dataFolder, 'requests.csv')
      await writeFile(file, `TIMESTAMP,ContextTokens,GeneratedTokens\n${new Date().toISOString()},4808,10\n`)
      const imported = await importWith(args.map((arg) => (arg === 'requests.csv' ? file : arg)))
      expect(imported).to.include({ code: 0, err: '' })
    })

    /** Code of a document, which imports the client as it was built with the project. */
    const codeOf = (document: string, mark: string): string =>
      [...textOf(document).matchAll(new RegExp(`<!-- ${mark} -->\\n\\n?\`\`\`js\\n([^]*?)\`\`\``, 'g'))]
        .map(([, code = '']) => code)
        .join('\n')
        .replace("'@tally-metering/sdk'", JSON.stringify(SDK))
    const runCode = (...args: string[]) =>
      spawnSync(process.execPath, args, {
        env: { ...process.env, TALLY_URL: tally.url, TALLY_API_KEY: tally.key },
        encoding: 'utf8',
        timeout: 30_000,
      })

    it('ends in six lines that report and ask, and count once what they send twice', async () => {
      const code = codeOf('README.md', 'integration')
      expect(code.trim().split('\n').length).to.equal(6)
      const file = path.join(tally.dataFolder, 'integration.mjs')
      await writeFile(file, code)
      const api = new ApiClient(tally.url, tally.key)
      const world = await makeWorld(api)
      await api.create('/v2/grants', {
        account_id: world.account,
        metric_id: world.tokens,
        amount: '10',
        effective_at: 0,
      })
      const { id: unused } = await api.create<{ id: string }>('/v2/accounts', { name: 'unused' })
      const script = `
        import { hasCredit, report } from ${JSON.stringify(file)}
        const [account, metric] = ${JSON.stringify([world.account, world.tokens])}
        const none = await hasCredit(${JSON.stringify(unused)}, metric)
        const before = await hasCredit(account, metric)
        const at = Math.floor(Date.now() / 1_000) - 5
        for (let n = 0; n < 2; n++) await report(account, metric, '10.5', 'request-1', at)
        while (await hasCredit(account, metric)) await new Promise((resolve) => setTimeout(resolve, 50))
        const answer = await fetch(\`\${process.env.TALLY_URL}/v2/accounts/\${account}/balance?metric_id=\${metric}\`,
          { headers: { 'x-api-key': process.env.TALLY_API_KEY } })
        console.log(none, before, (await answer.json()).balance)`
      const child = runCode('--input-type=module', '-e', script)
      expect(child.stdout.trim(), child.stderr).to.equal('false true -0.5')
    })

    it('is followed by a guide whose code runs', async () => {
      const file = path.join(tally.dataFolder, 'guide.mjs')
      await writeFile(file, codeOf('docs/guides/typescript.md', 'sdk'))
      const { stdout, stderr } = runCode(file)
      expect(stdout, stderr).to.match(/^10000\nleft: 9999\.5\n400 \[\n? *\{[^]*field: 'quantity'[^]*\n5 1\n$/)
    })
  })

  it('say it in words that are easy to read', async () => {
    const checked = new Map([...all].filter(([name]) => !/^(?:CHANGELOG|docs\/decisions\/)/.test(name)))
    checked.set('openapi.yaml', await read('openapi.yaml'))
    expect([...checked.keys()]).to.include.members(['README.md', 'ARCHITECTURE.md', 'docs/billing.md'])
    const longestFirst = [...BETTER_WORDS.keys()].toSorted((a, b) => b.length - a.length)
    const pattern = new RegExp(`\\b(?:${longestFirst.join('|')})\\b`, 'gi')
    const found = [...checked].flatMap(([name, text]) =>
      text.split('\n').flatMap((line, index) =>
        [...line.matchAll(pattern)].map(([word]) => {
          const better = BETTER_WORDS.get(word.toLowerCase()) ?? ''
          return `${name}:${index + 1}: not "${word}" but: ${better}`
        }),
      ),
    )
    expect(found).to.deep.equal([])
  })

  it('list every setting with its default, as the program reads them', () => {
    const settingsOf = (readConfig: (read: EnvReader) => unknown) => {
      const read = new EnvReader({})
      readConfig(read)
      return read.settings
    }
    const services = new Map([
      ['gateway', settingsOf(readGatewayServiceConfig)],
      ['loader', settingsOf(readLoaderServiceConfig)],
      ['api', settingsOf(readApiServiceConfig)],
      ['refill', settingsOf(readRefillServiceConfig)],
      ['rollup', settingsOf(readRollupServiceConfig)],
    ])
    const expected = settingsMarkdown(settingsOf(readStandaloneConfig), services)
    const [, table = ''] =
      /<!-- settings -->\n\n?([^]*?)\n\n/.exec(textOf('docs/reference/settings.md')) ?? []
    const rows = table.split('\n').slice(2)
    expect(rows.map(withoutPadding)).to.deep.equal(expected.map(withoutPadding))
  })

  it('list every operation with its permission', () => {
    const document = readOpenApiDocument()
    const [, table = ''] =
      /<!-- operations -->\n\n?([^]*?)\n*$/.exec(textOf('docs/reference/operations.md')) ?? []
    const rows = table.split('\n').slice(2).map(withoutPadding)
    const expected = listOperations(document).map(({ method, path: target, permissions }) => {
      const { summary } = document.paths[target]?.[method] as unknown as { summary: string }
      return `|\`${method.toUpperCase()} ${target}\`|${summary}|${permissions?.map((name) => `\`${name}\``).join(' or ') ?? 'none'}|`
    })
    expect(rows).to.deep.equal(expected)
  })

  it('name every npm command, and none that does not exist', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const internal = /^(prepare|build|clean|check:\w+(-\w+)*|format|generate)$/
    for (const name of Object.keys(scripts).filter((script) => !internal.test(script)))
      expect(textOf('docs/reference/commands.md'), name).to.match(
        new RegExp(`npm (run )?${name}\\b|, \`${name}\``),
      )
    for (const [document, text] of all)
      for (const [, name = ''] of text.matchAll(/npm run (?:--silent )?([\w:-]+)/g))
        expect(Object.keys(scripts), document).to.include(name)
  })

  it('name files of the project that are there', async () => {
    const missing: string[] = []
    for (const [document, text] of all)
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)\s#]+)(?:#[^)]*)?\)/g))
        await access(path.join(PROJECT_ROOT, path.dirname(document), target)).catch(() =>
          missing.push(`${document}: ${target}`),
        )
    expect(missing).to.deep.equal([])
  })
})

/** Returns the files in a folder of the project and its subfolders, as paths within the project. */
async function listUnder(folder: string): Promise<string[]> {
  const names = await readdir(path.join(PROJECT_ROOT, folder), { recursive: true })
  return names.map((name) => path.join(folder, name))
}

/** The words of the first example in the help of an import. */
const importExample = (help: string): string[] =>
  (/npm run import -- (--file [^]*?[^\\])\n/.exec(help.split('examples:')[1] ?? '')?.[1] ?? '')
    .split(/[\s\\]+/)
    .filter((word) => word !== '')

/** Prettier pads the cells of tables. */
const withoutPadding = (row: string): string => row.replaceAll(/\s*\|\s*/g, '|')

async function bash(
  script: string,
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const shell = spawn('bash', ['-c', script], { cwd: PROJECT_ROOT, env: { ...process.env, ...env } })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(shell, 'exit')) as [number | null]
  return { code, output }
}
