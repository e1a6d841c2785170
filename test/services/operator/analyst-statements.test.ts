import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readAnalystsConfig } from '../../../services/analysts/config.ts'
import type { CommandDeps } from '../../../services/operator/command.ts'
import { runCommand } from '../../../services/operator/run-command.ts'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import {
  keepCompanyViews,
  makeAllCompanyViews,
  makeCompanyViews,
} from '../../../shared/clickhouse/company-views.ts'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { newUuid } from '../../../shared/domain/ids.ts'
import { analystDatabaseRepository } from '../../../shared/postgres/analysts.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import { makeCompany } from '../../../shared/postgres/make-company.ts'
import { openPurges } from '../../../shared/redis/purges.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

describe('analysts on a ClickHouse server', () => {
  let db: TestDatabase
  let clickhouse: OpenedClickHouse
  let acme: string

  before(async () => {
    ;[db, clickhouse] = await Promise.all([
      createDatabase('analysts'),
      createClickHouse('analysts on a server'),
    ])
    acme = await makeCompany(db.pool, { name: 'acme', mode: 'test' })
  })
  after(async () => {
    await clickhouse.close()
    await db.close()
  })

  const run = async (...words: string[]) => {
    const lines: string[] = []
    const print = (line: string) => lines.push(line)
    const deps = {
      pool: db.pool,
      openClickHouse: () => Promise.resolve(clickhouse.client),
      purges: openPurges(undefined),
      installation: {
        urls: { CLICKHOUSE_URL: 'http://services:secret@clickhouse:8123' },
        database: clickhouse.database,
        analystAddress: () => undefined,
      },
    } as unknown as CommandDeps
    const context = { print, showProgress: print, signal: new AbortController().signal }
    const code = await runCommand('analysts', words, deps, testLog, context)
    return { code, output: lines.join('\n') }
  }
  const viewsIn = (database: string) =>
    queryRows<{ name: string; text: string }>(
      clickhouse.client,
      'SELECT name, as_select AS text FROM system.tables WHERE database = {database:String} ORDER BY name',
      { database },
    )

  it('are made by statements that ClickHouse can parse, over views that are there', async () => {
    const { code, output } = await run('sql', '--company', 'acme', '--name', 'ada')
    expect(code, output).to.equal(0)
    const statements = output.split('\n').filter((line) => line.endsWith(';'))
    expect(statements).to.have.length.above(15)
    for (const statement of statements)
      await queryRows(clickhouse.client, 'SELECT formatQuery({text:String})', {
        text: statement.slice(0, -1),
      })
    expect(output.match(/^-- not tried on a server: /gm)).to.have.length(statements.length)
    const own = `${clickhouse.database}_company_1`
    const made = await viewsIn(own)
    expect(made.map(({ name }) => name)).to.include.members(['daily_usage', 'events'])
    for (const { name } of made)
      expect(output).to.include(
        `ALTER TABLE \`${own}\`.\`${name}\` MODIFY SQL SECURITY DEFINER DEFINER = tally_views;`,
      )
    const granted = [...output.matchAll(/^GRANT SELECT ON `\w+`\.`(\w+)` TO tally_views;$/gm)].map(
      ([, name]) => name,
    )
    expect(granted).to.include.members(['usage_events', 'usage_by_day', 'usage_dirty_slots', 'rollup_epochs'])
    const [, password = ''] = /^-- The password is shown this once: (tally_analyst_\w+)$/m.exec(output) ?? []
    expect(output).to.include(
      `CREATE USER \`ada\` IDENTIFIED WITH sha256_hash BY '${hash('sha256', password, 'hex')}'`,
    )
    expect(output).to.include('TO ALL EXCEPT `services`, tally_views;')
    const { limits } = readAnalystsConfig(new EnvReader({}))
    expect(output).to.include(`max_result_bytes = ${limits.resultBytes} CONST`)
    expect(output).to.include(`max_memory_usage = ${limits.memoryBytes} CONST`)
    expect(output).to.include(`max_result_rows = ${limits.resultRows} `)
  })

  it('may make tables in a database of their own, and nowhere else', async () => {
    const { code, output } = await run('sql', '--company', 'acme', '--name', 'bob', '--workspace')
    expect(code, output).to.equal(0)
    const workspace = `\`${clickhouse.database}_company_1_workspace\``
    const statements = output.split('\n').filter((line) => line.endsWith(';'))
    for (const statement of statements)
      await queryRows(clickhouse.client, 'SELECT formatQuery({text:String})', {
        text: statement.slice(0, -1),
      })
    expect(output).to.include(`CREATE DATABASE IF NOT EXISTS ${workspace};`)
    const writes = statements.filter((statement) => /^GRANT .*\b(?:CREATE|INSERT)\b/.test(statement))
    expect(writes).to.have.length(1)
    expect(writes[0]).to.match(new RegExp(` ON ${workspace}\\.\\* TO \`bob\`;$`))
    expect(output).to.match(
      /^CREATE SETTINGS PROFILE IF NOT EXISTS tally_builders SETTINGS readonly = 0, allow_ddl = 1 CONST/m,
    )
    const reader = await run('sql', '--company', 'acme', '--name', 'ada')
    expect(reader.output).to.not.include('_workspace')
    expect(reader.output).to.include('readonly = 2 CONST, allow_ddl = 0 CONST')
  })

  it('are not added by Tally, which has no say over users there', async () => {
    const { code, output } = await run('add', '--company', 'acme', '--name', 'ada')
    expect(code).to.equal(1)
    expect(output).to.match(/npm run analysts -- sql/)
  })

  it('have views that follow a reset, made by whatever process keeps them', async () => {
    const parts = { pool: db.pool, clickhouse: clickhouse.client, database: clickhouse.database }
    const keepers = [keepCompanyViews(parts, testLog), keepCompanyViews(parts, testLog)]
    try {
      const namespaceId = newUuid()
      await withTransaction(db.pool, (client) =>
        companyRepository(client).replaceNamespace(acme, namespaceId),
      )
      await until(async () => (await analystDatabaseRepository(db.pool).listOutdated()).length === 0)
      for (const { name, text } of await viewsIn(`${clickhouse.database}_company_1`))
        expect(text, name).to.include(namespaceId)
    } finally {
      for (const keeper of keepers) await keeper.close()
    }
  })

  it('are noted as shown only when they were made', async () => {
    const parts = { pool: db.pool, clickhouse: clickhouse.client, database: clickhouse.database }
    const versions = async () =>
      (await db.pool.query<{ xmin: string }>('SELECT xmin::text FROM analyst_databases ORDER BY number')).rows
    await makeAllCompanyViews(parts)
    const before = await versions()
    await makeAllCompanyViews(parts)
    expect(await versions()).to.deep.equal(before)
  })

  it('see nothing that a replacement of a view left when its process was killed', async () => {
    const parts = { pool: db.pool, clickhouse: clickhouse.client, database: clickhouse.database }
    const own = `${clickhouse.database}_company_1`
    const before = (await viewsIn(own)).map(({ name }) => name)
    const { client } = clickhouse
    await client.command({ query: `CREATE VIEW ${own}._tmp_replace_1a2b3c AS SELECT 1` })
    await client.command({ query: `ALTER DATABASE ${own} MODIFY COMMENT ''` }) // as it is within a replacement
    await makeAllCompanyViews(parts)
    expect((await viewsIn(own)).map(({ name }) => name)).to.deep.equal(before)
  })

  it('get numbers one after the other, up to a limit, each for good', async () => {
    const companies: string[] = []
    for (let i = 0; i < 6; i++)
      companies.push(await makeCompany(db.pool, { name: `company ${randomUUID()}`, mode: 'live' }))
    const enter = (id: string) =>
      withTransaction(db.pool, (client) => analystDatabaseRepository(client).enter(id, 5))
    const numbers = (await Promise.all(companies.map(enter))).map((entered) => entered?.number)
    expect(numbers.filter((number) => number !== undefined).sort()).to.deep.equal([2, 3, 4, 5])
    expect((await Promise.all(companies.map(enter))).map((entered) => entered?.number)).to.deep.equal(numbers)
  })

  it('have views that are made by one process at a time, whoever makes them', async () => {
    const parts = { pool: db.pool, clickhouse: clickhouse.client, database: clickhouse.database }
    const company = await makeCompany(db.pool, { name: 'waits', mode: 'live' })
    const of = await withTransaction(db.pool, (client) =>
      analystDatabaseRepository(client).enter(company, 100),
    )
    if (of === undefined) throw new Error('no number is left')
    let letGo: () => void = () => undefined
    const held = new Promise<void>((resolve) => (letGo = resolve))
    let hasBegun = false
    const other = runExclusively(db.pool, "the making of companies' views", () => {
      hasBegun = true
      return held
    })
    await until(() => Promise.resolve(hasBegun))
    let isMade = false
    const making = makeCompanyViews(parts, of).then(() => (isMade = true))
    await sleep(400)
    expect([isMade, await viewsIn(`${clickhouse.database}_company_${of.number}`)]).to.deep.equal([false, []])
    letGo()
    await Promise.all([other, making])
    expect(await viewsIn(`${clickhouse.database}_company_${of.number}`)).to.not.deep.equal([])
  })
})
