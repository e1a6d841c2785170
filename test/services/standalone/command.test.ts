import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { startFakeTally } from '../../clients/cli/run-tally.ts'
import { runProgram } from '../../support/by-hand.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

const MAIN = path.join(PROJECT_ROOT, 'dist/services/standalone/command.main.js')
const command = (env: Record<string, string>, ...words: string[]) =>
  runProgram('standalone/command.main', env, ...words)

describe('tally in an installation', function () {
  this.timeout(30_000)

  it('reaches each command that is a script of npm, and no name means two things', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const help = await command({}, '--help')
    const names = /^In this installation also: (.*)\.$/m.exec(help.output)?.[1]?.split(', ') ?? []
    expect(names).to.have.length.above(5)
    expect(scripts).to.include.keys(names)
    for (const name of names) {
      expect(help.output, name).not.to.match(new RegExp(`^  ${name} `, 'm'))
      expect(scripts[name], name).to.match(/^(\w+=\S+ )*(exec )?node /)
    }
    const operator = Object.entries(scripts).filter(([, script]) => script.includes('services/operator/main'))
    expect(names).to.include.members(operator.map(([name]) => name))
  })

  it('hands on words as they are, with the variables of the script, and the exit code', async () => {
    const folder = await makeTempFolder('command')
    const config = await command({ DATA_DIR: folder, PORT: '8099' }, 'config')
    expect([config.code, config.output]).to.satisfy(
      ([code, output]: [number, string]) => code === 0 && output.includes('8099'),
    )
    const wrong = await command({ DATA_DIR: folder }, 'config', 'a "b" $HOME;')
    expect(wrong.code).to.equal(2)
    expect(wrong.output).to.include('a "b" $HOME;')
    expect((await command({}, 'acounts')).code).to.equal(2)
    expect((await command({}, '--version')).output).to.match(/^\d+\.\d+\.\d+\n$/)
  })

  it('reads the address and the key of the Tally in its folder', async () => {
    const folder = await makeTempFolder('command')
    const env = { DATA_DIR: folder, XDG_CONFIG_HOME: folder }
    const { code, output } = await command(env, 'accounts', 'list')
    expect([code, output]).to.deep.equal([
      1,
      'tally: not logged in: run tally login --url URL, or set TALLY_URL\n',
    ])
    const fake = await startFakeTally((_, res) => {
      res.setHeader('Content-Type', 'application/json').end('{"data":[],"has_more":false}')
    })
    await writeFile(path.join(folder, 'api-address'), new URL(fake.url).host)
    await writeFile(path.join(folder, 'api-key'), 'key\n')
    expect((await command(env, 'accounts', 'list')).code).to.equal(0)
    expect(fake.requests).to.deep.equal([{ target: 'GET /v2/accounts', key: 'key' }])
    await fake.end()
  })

  it('hands on signals', async () => {
    const fake = await startFakeTally(() => undefined)
    const child = spawn(process.execPath, [MAIN, 'accounts', 'list'], {
      env: { ...process.env, TALLY_URL: fake.url, TALLY_API_KEY: 'key' },
    })
    const ended = once(child, 'close')
    await until(() => Promise.resolve(fake.requests.length > 0))
    child.kill('SIGTERM')
    expect(await ended).to.deep.equal([130, null])
    await fake.end()
  })
})
