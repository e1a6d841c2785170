import { PLANTED_BUGS } from '../../test/planted-bugs/planted-bugs.ts'
import { pageMaker, type Table } from './page.ts'

/** The page of the planted bugs, in the order of the list. */
export const plantedBugsPage = pageMaker({
  name: 'planted-bugs.md',
  sources: ['test/planted-bugs/planted-bugs.ts', 'tools/generate/planted-bugs-page.ts'],
  tables: () => Promise.resolve({ bugs: bugsTable() }),
})

const bugsTable = (): Table => [
  ['What is wrong', 'Planted in'],
  ...PLANTED_BUGS.map(({ name, file }) => [name, `\`${file}\``]),
]
