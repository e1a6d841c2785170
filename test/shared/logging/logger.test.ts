import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { lineWriter } from '../../../shared/logging/standard-error.ts'
import { skipFor } from '../../run/pending.ts'

const MODULE = path.join(PROJECT_ROOT, 'dist/shared/logging/logger.js')
const STANDARD_ERROR = path.join(PROJECT_ROOT, 'dist/shared/logging/standard-error.js')
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

  it('is dropped and counted where it cannot be written, and whoever logs goes on', () => {
    const script = `
      const { createLogger } = await import(${JSON.stringify(MODULE)})
      const { droppedLines } = await import(${JSON.stringify(STANDARD_ERROR)})
      const log = createLogger('info')
      log.info('one')
      setTimeout(() => {
        log.fatal('two')
        process.stdout.write(String(droppedLines()))
      })`
    const full = openSync('/dev/full', 'w')
    try {
      const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', full],
      })
      expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '2' })
    } finally {
      closeSync(full)
    }
  })

  it('begins a line of its own after one that was cut short', () => {
    const written: string[] = []
    let room = Infinity
    const write = lineWriter((bytes) => {
      if (room === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      const some = bytes.subarray(0, Math.min(4, room))
      room -= some.length
      written.push(some.toString())
      return some.length
    })
    const lineUntil = (bytes: number, line: string) => {
      room = bytes
      return write(line)
    }
    expect(lineUntil(Infinity, 'the first\n')).to.equal(true)
    expect(lineUntil(6, 'the second\n')).to.equal(false)
    expect(lineUntil(0, 'the third\n')).to.equal(false)
    expect(lineUntil(Infinity, 'the fourth\n')).to.equal(true)
    expect(written.join('')).to.equal('the first\nthe se\nthe fourth\n')
  })

  it('waits a moment for a reader that is slow, and not once more for each line while it stands still', () => {
    const busy = () => {
      throw Object.assign(new Error('resource temporarily unavailable'), { code: 'EAGAIN' })
    }
    const write = lineWriter(busy, 50)
    const startedAt = performance.now()
    for (let line = 0; line < 100; line++) expect(write('a line\n')).to.equal(false)
    expect(performance.now() - startedAt).to.be.within(50, 2_000)
  })
})
