import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { skipFor } from '../../run/pending.ts'

const MODULE = path.join(PROJECT_ROOT, 'dist/shared/logging/logger.js')
const SCRIPT = `
  const { createLogger } = await import(${JSON.stringify(MODULE)})
  createLogger('info').child({ part: 'loader' }).info({ count: 7, body: 'a secret' }, 'applied the migrations')`

describe('what is logged', () => {
  it('is a line of JSON, without what must not be told', () => {
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', SCRIPT], {
      encoding: 'utf8',
    })
    const line = JSON.parse(stderr) as Record<string, unknown>
    expect(line).to.include({
      level: 30,
      part: 'loader',
      count: 7,
      body: '(hidden)',
      msg: 'applied the migrations',
    })
  })

  it('is a line for people at a terminal', function () {
    if (spawnSync('script', ['--version']).status !== 0) return skipFor(this, 'script is not on the PATH')
    const command = `${process.execPath} --input-type=module -e '${SCRIPT.replaceAll("'", `'\\''`)}'`
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' })
    expect(stdout)
      .to.match(/\d\d:\d\d:\d\d/)
      .and.to.contain('INFO')
      .and.to.contain('applied the migrations')
    expect(stdout).to.contain('(hidden)').and.not.to.contain('a secret')
  })
})
