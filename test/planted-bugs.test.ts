import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { PLANTED_BUGS } from './planted-bugs/planted-bugs.ts'

describe('planted bugs', () => {
  it('can be planted: each takes the place of text that stands in its file once', async () => {
    for (const { name, file, right, wrong } of PLANTED_BUGS) {
      const source = await readFile(path.join(PROJECT_ROOT, file), 'utf8')
      expect(source.split(right), name).to.have.length(2)
      expect(wrong, name).not.to.equal(right)
    }
  })

  it('name suites that are there', () => {
    for (const { suites } of PLANTED_BUGS)
      for (const suite of suites)
        if (!suite.includes('*'))
          expect(existsSync(path.join(PROJECT_ROOT, `test/${suite}.test.ts`)), suite).to.equal(true)
  })
})
