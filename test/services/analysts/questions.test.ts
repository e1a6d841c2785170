import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeAnalystViews } from '../../../shared/clickhouse/analyst-views.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { type AnalystEndpoint, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { NAMESPACE } from '../../support/usage-event.ts'
import { answersOf } from './question-answers.ts'
import { makeWorld, storeWorld, type World } from './question-world.ts'

const GUIDES = path.join(PROJECT_ROOT, 'docs/guides')

describe('the questions of the guide for analysts', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  let world: World
  let files: string[]

  before(async () => {
    files = (await readdir(path.join(GUIDES, 'questions'))).sort()
    clickhouse = await createClickHouse('questions')
    const { client, database } = clickhouse
    // The views of one company, in the place of those of all.
    await makeAnalystViews(client, { database, into: `${database}_analytics`, namespaceId: NAMESPACE })
    world = makeWorld()
    await storeWorld(clickhouse, world)
    const signal = new AbortController().signal
    const epochs = rollupEpochRepository(client)
    await buildEpoch(
      { client, epochs, tables: rollupTables(client, 60), reached: () => undefined, signal },
      3_600,
    )
    endpoint = await startAnalysts(clickhouse)
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  const sqlOf = (file: string) => readFile(path.join(GUIDES, 'questions', file), 'utf8')
  const ask = async (file: string, params: Record<string, string>, settings: Record<string, string>) => {
    const named = Object.entries(params).map(([name, value]) => [`param_${name}`, value])
    const { status, text } = await endpoint.ask(await sqlOf(`${file}.sql`), {
      default_format: 'JSONEachRow',
      ...settings,
      ...(Object.fromEntries(named) as Record<string, string>),
    })
    expect(status, `${file}: ${text}`).to.equal(200)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  it('are answered like a plain loop over what was reported', async () => {
    for (const { file, params, rows } of answersOf(world)) {
      expect(rows.length, file).to.be.greaterThan(0)
      expect((await ask(file, params, {})).map(rounded), file).to.deep.equal(rows.map(rounded))
    }
  })

  it('are answered so too by clients that join with NULL', async () => {
    for (const { file, params, rows } of answersOf(world))
      expect((await ask(file, params, { join_use_nulls: '1' })).map(emptied), file).to.deep.equal(
        rows.map(emptied),
      )
  })

  it('are all compared', () => {
    expect(
      answersOf(world)
        .map(({ file }) => `${file}.sql`)
        .sort(),
    ).to.deep.equal(files)
  })

  it('are one statement each, below a question and how it is not answered wrong', async () => {
    for (const file of files) {
      const [question = '', trap = '', ...statement] = (await sqlOf(file)).trimEnd().split('\n')
      expect(question, file).to.match(/^-- [A-Z].*\?$/)
      expect(trap, file).to.match(/^-- .*\.$/)
      expect(statement.join('\n'), file).to.match(/^SELECT\n|^SELECT /)
      expect(statement.join('\n'), file).to.not.match(/--|;|namespace_id/)
    }
  })

  it('are all in the list of the guide, with their question', async () => {
    const page = await readFile(path.join(GUIDES, 'questions.md'), 'utf8')
    const listed = [...page.matchAll(/^- \[(.*?)\]\(questions\/(.*?)\)/gms)].map(
      ([, question = '', file]) => ({
        file,
        question: question.replace(/\s+/g, ' '),
      }),
    )
    const meant = await Promise.all(
      files.map(async (file) => ({
        file,
        question: (await sqlOf(file)).split('\n')[0]?.slice('-- '.length),
      })),
    )
    expect(listed).to.deep.equal(meant)
  })
})

/** Floating point differs in its last digits by the order of additions. */
const rounded = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' ? Number(value.toPrecision(10)) : value,
    ]),
  )

/** Without the difference between nothing and empty text. */
const emptied = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(rounded(row)).map(([name, value]) => [
      name,
      value === null || (Array.isArray(value) && value.length === 0) ? '' : value,
    ]),
  )
