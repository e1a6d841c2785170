import { expect } from 'chai'
import { findTypeFaults } from './planted-bugs/find-type-faults.ts'
import { PLANTED_BUGS } from './planted-bugs/planted-bugs.ts'

const isCode = ({ file }: { file: string }): boolean => /\.tsx?$/.test(file)

describe('planted bugs of code', function () {
  this.timeout(300_000)

  it('are found by the compiler when they name what is not there, or are not code', () => {
    const [first] = PLANTED_BUGS.filter(isCode)
    if (first === undefined) throw new Error('there are none')
    const wrongs = ['const half = nobody\n', 'deps.nothing()\n', 'const = 1\n']
    const faults = findTypeFaults(wrongs.map((wrong) => ({ ...first, name: wrong, wrong })))
    expect(new Set(faults.map(({ name }) => name))).to.deep.equal(new Set(wrongs))
  })

  it('compile where they are planted', () => {
    expect(findTypeFaults(PLANTED_BUGS.filter(isCode))).to.deep.equal([])
  })
})
