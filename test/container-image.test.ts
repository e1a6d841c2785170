import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'

const linesOf = (file: string): string[] => readFileSync(path.join(PROJECT_ROOT, file), 'utf8').split('\n')

describe('the container image', () => {
  it('is given all that its build copies, and nothing else', () => {
    const copied = linesOf('Dockerfile').flatMap((line) => {
      const [instruction, ...words] = line.split(' ')
      return instruction === 'COPY' && words[0]?.startsWith('--from=') !== true ? words.slice(0, -1) : []
    })
    const [nothing, ...allowed] = linesOf('.dockerignore').filter((line) => line !== '')
    expect(nothing).to.equal('**')
    expect(allowed.sort()).to.deep.equal(copied.map((source) => `!${source}`).sort())
  })
})
