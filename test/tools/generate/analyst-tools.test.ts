import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { ANALYST_TOOLS } from '../../../tools/generate/analyst-tools.ts'
import { versionText } from '../../../tools/generate/analyst-tools-page.ts'

const ANALYSTS = 'test/services/analysts'

describe('the page of tools for analysts', () => {
  it('names tests that are there', () => {
    for (const { name, tests } of ANALYST_TOOLS) {
      expect(tests, name).to.not.deep.equal([])
      for (const test of tests) expect(existsSync(path.join(PROJECT_ROOT, test)), test).to.equal(true)
    }
  })

  it('says "its driver" and "its statements" of tools whose tests run drivers and statements', () => {
    for (const { name, by, tests } of ANALYST_TOOLS) {
      if (by !== 'itself')
        expect(tests.includes(`${ANALYSTS}/tool-statements.test.ts`), name).to.equal(
          by.includes('its statements'),
        )
      if (by.includes('its driver')) expect(tests.join(' '), name).to.match(/\/(?:clients|grafana)\.test\.ts/)
    }
  })

  it('has each program and each file of statements of the tests', () => {
    const listed = ANALYST_TOOLS.flatMap(({ versions }) => versions.map(({ file }) => file))
    for (const program of readdirSync(path.join(PROJECT_ROOT, ANALYSTS, 'clients')))
      expect(
        listed.some((file) => file.startsWith(`${ANALYSTS}/clients/${program}/`)),
        program,
      ).to.equal(true)
    const names = ANALYST_TOOLS.map(({ name }) => name).join(' ')
    for (const file of readdirSync(path.join(PROJECT_ROOT, ANALYSTS, 'tools'))) {
      const [title = ''] = readFileSync(path.join(PROJECT_ROOT, ANALYSTS, 'tools', file), 'utf8').split('\n')
      expect(
        names.split(/ and | /).some((name) => title.includes(name)),
        `${file}: ${title}`,
      ).to.equal(true)
    }
  })

  it('has versions that are pinned where it says', async () => {
    for (const version of ANALYST_TOOLS.flatMap(({ versions }) => versions))
      expect(await versionText(version)).to.match(/^[\w@/ -]+ \d+(?:\.\d+)*$/)
    const failed = await versionText({
      name: 'nothing',
      file: 'package.json',
      form: /^nothing ([\d.]+)$/,
    }).catch((err: unknown) => err)
    expect(String(failed)).to.equal('Error: package.json has no version of nothing')
  })
})
