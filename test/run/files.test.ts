import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'

const TESTS = path.join(PROJECT_ROOT, 'test')
const STARTS = /\b(?:startTally|startTallyUnderTest|startServices|startSharedEngines)\(/

describe('test files', () => {
  const read = (file: string) => readFile(path.join(TESTS, file), 'utf8')
  let files: string[]

  before(async () => {
    const names = await readdir(TESTS, { recursive: true })
    files = names.filter((name) => name.endsWith('.test.ts'))
  })

  it('that start a Tally or services of their own say why they cannot share one', async () => {
    const starting: string[] = []
    for (const file of files) if (STARTS.test(await read(file))) starting.push(file)
    expect(starting).to.have.length.above(10)
    for (const file of starting)
      expect(await read(file), file).to.match(
        /\/\/ Why (?:a separate Tally|separate Tallies|separate services): /,
      )
  })

  it('are there, those whose times test/run/files.json tells, and stand there once', async () => {
    const tiers = JSON.parse(await read('run/files.json')) as Record<string, Record<string, number>>
    const named = Object.values(tiers).flatMap((files) => Object.keys(files))
    expect(files).to.include.members(named.map((name) => `${name}.test.ts`))
    expect(new Set(named).size).to.equal(named.length)
  })

  it('are in docs/testing.md, those that `npm test` leaves out', async () => {
    const { slow, processes } = JSON.parse(await read('run/files.json')) as Record<
      'slow' | 'processes',
      Record<string, number>
    >
    const document = await readFile(path.join(PROJECT_ROOT, 'docs/testing.md'), 'utf8')
    const rows = [...document.matchAll(/^\| `([\w/-]+)` /gm)].map(([, name]) => name)
    expect(rows).to.include.members([...Object.keys(slow), ...Object.keys(processes)])
  })
})
