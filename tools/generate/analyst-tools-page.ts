import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { ANALYST_TOOLS, type AnalystTool, type TestedVersion } from './analyst-tools.ts'
import { pageMaker, type Table } from './page.ts'

/** The page of the tools for analysts: what the tests ran of each, and how it connects. */
export const analystToolsPage = pageMaker({
  name: 'guides/analyst-tools.md',
  sources: [
    'tools/generate/analyst-tools.ts',
    'tools/generate/analyst-tools-page.ts',
    ...new Set(ANALYST_TOOLS.flatMap(({ versions }) => versions.map(({ file }) => file))),
  ],
  tables: async () => ({ tools: await toolsTable(), connect: connectTable() }),
})

const toolsTable = async (): Promise<Table> => [
  ['Tool', 'Tested by', 'With', 'Works', 'Does not'],
  ...(await Promise.all(ANALYST_TOOLS.map(rowOf))),
]

const rowOf = async ({ name, by, versions, works, fails, tests }: AnalystTool): Promise<string[]> => [
  name,
  `${by}: ${tests.map(linkTo).join(', ')}`,
  (await Promise.all(versions.map(versionText))).join(', '),
  works,
  fails,
]

const linkTo = (test: string): string => `[${path.basename(test, '.test.ts')}](../../${test})`

/** @throws Error when the file does not have the version */
export async function versionText({ name, file, form }: TestedVersion): Promise<string> {
  const [, version] = form.exec(await readFile(path.join(PROJECT_ROOT, file), 'utf8')) ?? []
  if (version === undefined) throw new Error(`${file} has no version of ${name}`)
  return `${name} ${version}`
}

const connectTable = (): Table => [
  ['Tool', 'Address and settings'],
  ...ANALYST_TOOLS.map(({ name, connect }) => [name, `\`${connect}\``]),
]
