import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { readApiServiceConfig } from '../services/api/config.ts'
import { readGatewayServiceConfig } from '../services/gateway/config.ts'
import { readLoaderServiceConfig } from '../services/loader/config.ts'
import { readRefillServiceConfig } from '../services/refill/config.ts'
import { readRollupServiceConfig } from '../services/rollup/config.ts'
import { IMPORT_HELP } from '../services/reporter/import/import-help.ts'
import { readStandaloneConfig } from '../services/standalone/config.ts'
import { settingsMarkdown } from '../shared/config/settings-table.ts'
import { EnvReader } from '../shared/config/env-reader.ts'
import { listOperations, readOpenApiDocument } from '../shared/http/openapi-document.ts'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { skipFor } from './run/pending.ts'
import { importWith } from './services/reporter/run-reporter.ts'
import { startTally, type RunningTally } from './support/start-tally.ts'

describe('README.md', function () {
  this.timeout(120_000)
  let readme: string

  before(async () => {
    readme = await readFile(path.join(PROJECT_ROOT, 'README.md'), 'utf8')
  })

  describe('the tour', () => {
    let tally: RunningTally

    // Why a Tally of its own: README's commands are for the companies and the folder of a new installation.
    before(async function () {
      for (const program of ['bash', 'curl'])
        if (spawnSync(program, ['--version']).status !== 0) skipFor(this, `${program} is not on the PATH`)
      tally = await startTally()
    })
    after(() => (tally as RunningTally | undefined)?.discard())

    it('runs as it stands, command by command, shows what it says, and can be run again', async () => {
      const blocks = [...readme.matchAll(/<!-- tour -->\n\n?```sh\n([^]*?)```/g)].map(
        ([, commands = '']) => commands,
      )
      expect(blocks.length).to.be.greaterThan(6)
      const script = ['set -euo pipefail', ...blocks]
        .join('\n')
        .replaceAll('http://127.0.0.1:8080', tally.url)
        .replaceAll('http://127.0.0.1:8123', tally.analystUrl)
        .replaceAll('.data/', `${tally.dataFolder}/`)
      const { code, output } = await bash(script, { DATA_DIR: tally.dataFolder })
      expect(code, output).to.equal(0)
      expect(output).to.contain('"grant_total":"10000","usage_total":"4808.3","balance":"5191.7"')
      expect(output).to.contain('"accepted":3')
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
  })

  it('lists every setting with its default, as the program reads them', () => {
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
    const [, table = ''] = /<!-- settings -->\n\n?([^]*?)\n\n/.exec(readme) ?? []
    const rows = table.split('\n').slice(2)
    expect(rows.map(withoutPadding)).to.deep.equal(expected.map(withoutPadding))
  })

  it('lists every operation with its permission', () => {
    const document = readOpenApiDocument()
    const [, table = ''] = /<!-- operations -->\n\n?([^]*?)\n\n/.exec(readme) ?? []
    const rows = table.split('\n').slice(2).map(withoutPadding)
    const expected = listOperations(document).map(({ method, path: target, permission }) => {
      const { summary } = document.paths[target]?.[method] as unknown as { summary: string }
      return `|\`${method.toUpperCase()} ${target}\`|${summary}|${permission === undefined ? 'none' : `\`${permission}\``}|`
    })
    expect(rows).to.deep.equal(expected)
  })

  it('names every npm command, and none that does not exist', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const internal = /^(prepare|build|clean|check:\w+(-\w+)*|format)$/
    for (const name of Object.keys(scripts).filter((script) => !internal.test(script)))
      expect(readme, name).to.match(new RegExp(`npm (run )?${name}\\b`))
    for (const [, name = ''] of readme.matchAll(/npm run (?:--silent )?([\w:-]+)/g))
      expect(Object.keys(scripts)).to.include(name)
  })
})

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
