import { expect } from 'chai'
import { checkSettings } from '../../../shared/config/check-settings.ts'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { runProgram } from '../../support/by-hand.ts'

/** Servers that do not exist: a check connects to nothing. */
const SERVERS = {
  DATABASE_URL: 'postgres://service:x@127.0.0.1:1/tally',
  CLICKHOUSE_URL: 'http://127.0.0.1:1',
}
const WITH_OWNER = { ...SERVERS, DATABASE_OWNER_URL: 'postgres://owner:x@127.0.0.1:1/tally' }

describe('a check of settings', () => {
  it('finds names that are no settings, and all that a start would refuse, at once', () => {
    const read = new EnvReader({ A: '5', B: 'x' })
    read.integer('A', { about: '', default: 1, min: 0, max: 10 })
    expect(checkSettings(read, ['A'], 'npm start')).to.equal('the settings of npm start are valid')
    read.integer('B', { about: '', default: 1, min: 0, max: 10 })
    expect(() => checkSettings(read, ['A', 'AA'], 'npm start')).to.throw(/B must be.*\n.*AA is no setting of/)
  })

  it('ends with 0 without a server, for a service, all in one process, migrations and commands', async () => {
    for (const [main, command, env, words] of [
      ['gateway/main', 'npm run gateway', SERVERS, []],
      ['standalone/main', 'npm start', {}, []],
      ['standalone/migrate.main', 'npm run migrate [-- --contract]', WITH_OWNER, []],
      ['operator/main', 'npm run audit', SERVERS, ['audit']], // it needs no owner
    ] as const) {
      const { code, output } = await runProgram(main, env, ...words, '--check-config', 'LOG_LEVEL')
      expect(output).to.equal(`the settings of ${command} are valid\n`)
      expect(code).to.equal(0)
    }
  })

  it('ends as a start does, with the same message, and names what is misspelt', async () => {
    const { code, output } = await runProgram(
      'loader/main',
      { ADMIN_PORT: 'x' },
      '--check-config',
      'ADMIN_HOTS',
    )
    expect(code).to.equal(1)
    expect(output).to.match(
      /^the settings are not valid:\n {2}- DATABASE_URL and CLICKHOUSE_URL are missing: the loader is.*\n {2}- ADMIN_PORT must.*\n {2}- ADMIN_HOTS is no setting of npm run loader\n$/,
    )
    expect((await runProgram('loader/main', SERVERS, '--check-config', '--port')).code).to.equal(2)
  })
})
