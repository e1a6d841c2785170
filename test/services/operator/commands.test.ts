import { rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { type CommandResult, runCommand } from '../../support/by-hand.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { until } from '../../support/until.ts'

const NAMES = ['audit', 'companies', 'dead-letters', 'doctor', 'keys', 'trail']

describe('maintenance commands', function () {
  this.timeout(60_000)

  it('explain themselves, without a Tally that is running', async () => {
    for (const name of NAMES)
      for (const words of [['--help'], ['list', '-h']]) {
        const { code, output } = await runCommand('/nowhere', name, ...words)
        expect(code, output).to.equal(0)
        expect(output).to.match(
          new RegExp(`^npm run ${name}: .*\\n\\nusage: npm run ${name}[^]*Exit codes: `),
        )
      }
  })

  describe('in a running Tally', () => {
    let tally: RunningTally

    before(async () => {
      // Why a separate Tally: the test rebuilds its rollups, and it must have no dead letters.
      tally = await startTally()
    })
    after(async () => {
      await tally.stop()
      await rm(path.dirname(tally.dataFolder), { recursive: true, force: true })
    })

    const run = (...words: string[]): Promise<CommandResult> => runCommand(tally.dataFolder, ...words)

    it('issue a key alone for a script, and tell a key that was revoked already', async () => {
      const { output: key } = await run('keys', 'issue', '--quiet', '--name', 'script')
      expect(key).to.match(/^tally_live_\w+\n$/)
      expect((await new ApiClient(tally.url, key.trim()).get('/v2/accounts')).status).to.equal(200)
      const [id = ''] = /^\S+(?= +script)/m.exec((await run('keys', 'list')).output) ?? []
      expect(await run('keys', 'revoke', id)).to.include({ code: 0 })
      const again = await run('keys', 'revoke', id)
      expect(again.code).to.equal(0)
      expect(again.output).to.match(new RegExp(`^${id} was revoked already, 20`))
    })

    it('computes rollups anew while it serves, and refuses words it does not know', async () => {
      // The first build holds the same lock, so this waits until it has ended.
      const done = await until(async () => {
        const result = await run('rebuild')
        return result.code === 0 && result
      })
      expect(done.output).to.match(/^readers use the rollups of epoch \d+ now; they took \d+\.\d s$/m)
      expect((await run('rebuild', '--all')).code).to.equal(2)
    })

    it('rotate a key, and tell which took its place', async () => {
      const { output } = await run('keys', 'issue', '--name', 'old', '--permissions', 'read:all,write:all')
      const [id = ''] = /[0-9a-f-]{36}/.exec(output) ?? []
      const args = ['--overlap-s', '3600', '--permissions', 'read:all', '--quiet']
      const { output: key } = await run('keys', 'rotate', id, ...args)
      expect(key).to.match(/^tally_live_\w+\n$/)
      const api = new ApiClient(tally.url, key.trim())
      expect((await api.get('/v2/accounts')).status).to.equal(200)
      expect((await api.post('/v2/accounts', { name: 'x' })).status).to.equal(403)
      const again = await run('keys', 'rotate', id, '--overlap-s', '0')
      expect(again.code).to.equal(1)
      const [, next = ''] = /before: (\S+) took its place/.exec(again.output) ?? []
      const list = (await run('keys', 'list')).output
      expect(list).to.match(new RegExp(`^${id} +old .* valid until \\S+, ${next} took its place$`, 'm'))
      expect(list).to.match(new RegExp(`^${next} +old .* valid$`, 'm'))
      const more = await run(
        'keys',
        'rotate',
        next,
        '--overlap-s',
        '0',
        '--permissions',
        'read:all,write:all',
      )
      expect(more.output).to.contain('a rotation adds no permissions')
      expect((await run('keys', 'rotate', next)).output).to.contain('--overlap-s is required')
    })

    it('say "none" when there is nothing to list', async () => {
      expect(await run('dead-letters', 'list')).to.deep.equal({ code: 0, output: 'none\n' })
      await run('companies', 'create', '--name', 'Empty')
      expect(await run('keys', 'list', '--company', 'Empty')).to.deep.equal({ code: 0, output: 'none\n' })
    })

    it('end with 1 when there is no such thing, in one line', async () => {
      for (const [words, said] of [
        [['keys', 'revoke', 'nobody'], 'there is no key nobody\n'],
        [['keys', 'rotate', 'nobody', '--overlap-s', '0'], 'there is no key nobody\n'],
        [['dead-letters', 'show', '99'], 'there is no dead letter 99\n'],
      ] as const)
        expect(await run(...words)).to.deep.equal({ code: 1, output: said })
      const { code, output } = await run('keys', 'list', '--company', 'Nobody')
      expect([code, output.split('\n').length]).to.deep.equal([1, 2])
      expect(output).to.match(/^there is no company "Nobody"; there are: "default", "sandbox"/)
    })

    it('end with 2 when the words make no sense, and say when npm may have kept options', async () => {
      for (const [words, said] of [
        [['keys'], 'keys takes list, issue, rotate, revoke: say which\nSee npm run keys -- --help.\n'],
        [['companies', 'create', '--mode', 'test'], '--name is required\nSee npm run companies -- --help.\n'],
        [
          ['companies', 'create'],
          '--name is required (with npm, options come after --: npm run companies -- create --name NAME [--mode live|test])\n' +
            'See npm run companies -- --help.\n',
        ],
      ] as const)
        expect(await run(...words)).to.deep.equal({ code: 2, output: said })
      expect((await run('keys', 'issue', 'Second')).output).to.contain(
        '(with npm, options come after --: npm run keys -- issue [--company NAME]',
      )
    })
  })
})
