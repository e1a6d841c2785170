import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import {
  FIRST_VERSION,
  type Migration,
  pendingMigrations,
  readMigrations,
} from '../../shared/config/migration-files.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { compareVersions, VERSION } from '../../shared/config/version.ts'

/** Files from before the first release, beside which no other version ran. */
const BEFORE_RELEASES = ['0022_keys_name_what_they_made', '0026_search_text', '0027_account_keys']

/** What takes away, renames or restricts what the version before uses, in either database. */
const CONTRACT_WORDS =
  /\b(DROP|RENAME|TRUNCATE|DELETE (FROM|WHERE)|DETACH|EXCHANGE|CLEAR|REVOKE|OR REPLACE|SET NOT NULL|ADD (CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)|MODIFY (?!SETTING|COMMENT)|ALTER COLUMN \w+ (SET DATA )?TYPE)\b/i

/** A file's statements without comments, texts, and bodies of functions, which nobody runs yet. */
const statementsOf = (sql: string): string[] =>
  sql
    .replace(/--.*/g, '')
    .replace(/\bAS (\$\w*\$)[^]*?\1/gi, '')
    .replace(/'[^']*'/g, "''")
    .replace(/\s+/g, ' ')
    .split(';')

/** Where a file that only adds would stop a process of the version before. */
function contractionsOf(sql: string): string[] {
  const statements = statementsOf(sql)
  const made = statements.flatMap((text) => /CREATE TABLE (?:IF NOT EXISTS )?(\w+)/i.exec(text)?.[1] ?? [])
  const found = statements.flatMap((text) => CONTRACT_WORDS.exec(text)?.[0] ?? [])
  for (const text of statements) {
    const table = /CREATE UNIQUE INDEX .* ON (\w+)/i.exec(text)?.[1]
    if (table !== undefined && !made.includes(table)) found.push('UNIQUE INDEX')
    for (const column of text.split(/\bADD COLUMN\b/i).slice(1))
      if (/\bNOT NULL\b/i.test(column) && !/\b(DEFAULT|GENERATED)\b/i.test(column)) found.push('NOT NULL')
  }
  return found
}

describe('the migration files of both databases', () => {
  let files: Migration[]

  before(async () => {
    const folders = ['shared/postgres/migrations', 'clickhouse'].map((name) => path.join(PROJECT_ROOT, name))
    files = (await Promise.all(folders.map(readMigrations))).flat()
    expect(files.length).to.be.greaterThan(60)
  })

  it('only add, unless their header says that they contract', () => {
    const contracting = files
      .filter(({ phase }) => phase === 'expand')
      .flatMap(({ name, sql }) => contractionsOf(sql).map((found) => `${name}: ${found}`))
    expect([...new Set(contracting.map((text) => text.replace(/:.*/, '')))]).to.deep.equal(BEFORE_RELEASES)
  })

  it('let the version before run, and no later one than this', async () => {
    const changelog = await readFile(path.join(PROJECT_ROOT, 'CHANGELOG.md'), 'utf8')
    const before =
      [...changelog.matchAll(/^## (\d+\.\d+\.\d+)/gm)]
        .map(([, version = '']) => version)
        .find((version) => compareVersions(version, VERSION) < 0) ?? FIRST_VERSION
    const late = files.filter(
      ({ phase, oldest }) => compareVersions(oldest, phase === 'expand' ? before : VERSION) > 0,
    )
    expect(late.map(({ name }) => name)).to.deep.equal([])
  })

  it('are found out when they contract in the guise of adding', () => {
    for (const [sql, found] of [
      ['ALTER TABLE a RENAME COLUMN b TO c', 'RENAME'],
      ['ALTER TABLE a\n  DROP COLUMN b', 'DROP'],
      ['ALTER TABLE a ALTER COLUMN b SET NOT NULL', 'SET NOT NULL'],
      ['ALTER TABLE a ALTER COLUMN b TYPE text', 'ALTER COLUMN b TYPE'],
      ['ALTER TABLE a ADD COLUMN b text, ADD COLUMN c text NOT NULL', 'NOT NULL'],
      ['ALTER TABLE a MODIFY COLUMN b String', 'MODIFY '],
      ['ALTER TABLE a ADD CHECK (b > 0)', 'ADD CHECK'],
      ['CREATE OR REPLACE FUNCTION a() RETURNS void AS $$ SELECT 1 $$', 'OR REPLACE'],
      ['CREATE UNIQUE INDEX a ON b (c)', 'UNIQUE INDEX'],
      ['DO $$ BEGIN DELETE FROM a; END $$', 'DELETE FROM'],
    ] as const)
      expect(contractionsOf(sql), sql).to.deep.equal([found])
    for (const sql of [
      "-- DROP\nALTER TABLE a ADD COLUMN b text NOT NULL DEFAULT 'DROP', ADD COLUMN c integer CHECK (c > 0)",
      'CREATE TABLE a (b text NOT NULL); CREATE UNIQUE INDEX c ON a (b)',
      'CREATE FUNCTION a() RETURNS void AS $$ DELETE FROM b $$ LANGUAGE sql',
    ])
      expect(contractionsOf(sql), sql).to.deep.equal([])
  })
})

describe('pending migrations', () => {
  const file = (name: string, phase: Migration['phase'], oldest: string) => ({
    name,
    phase,
    oldest,
    sql: name,
    checksum: `of ${name}`,
  })
  const files = [
    file('0001_a', 'expand', '1.8.0'),
    file('0002_b', 'contract', '1.9.0'),
    file('0003_c', 'contract', '1.10.0'),
    file('0004_d', 'expand', '1.9.0'),
  ]
  const version = '1.10.0'
  const pending = (applied: Migration[], contract: boolean) =>
    pendingMigrations(files, applied, { contract, version }).map(({ name }) => name)

  it('are those that only add, and those that only versions before the last one would miss', () => {
    expect(pending([], false)).to.deep.equal(['0001_a', '0002_b', '0004_d'])
    expect(pending(files.slice(0, 1), false)).to.deep.equal(['0002_b', '0004_d'])
  })

  it('are all others, too, once no process of the version before runs', () => {
    expect(pending([], true)).to.deep.equal(files.map(({ name }) => name))
    expect(pending(files.toSpliced(2, 1), true)).to.deep.equal(['0003_c'])
    expect(pending(files, true)).to.deep.equal([])
  })

  it('are refused in a database that needs a later version, and in no other that a later version migrated', () => {
    const later = file('0005_e', 'expand', '1.10.0')
    expect(pending([...files, later], false)).to.deep.equal([])
    for (const oldest of ['1.10.1', '1.11.0', '10.0.0'])
      expect(() => pending([{ ...later, oldest }, ...files], false)).to.throw(
        `the database needs Tally ${oldest} or later, and this is 1.10.0`,
      )
  })

  it('know the files that were applied before files had headers', async () => {
    const files = await readMigrations(path.join(PROJECT_ROOT, 'shared/postgres/migrations'))
    expect(files.find(({ name }) => name === '0005_grants')?.checksum).to.equal(
      '8421b6c4ba9f6c852cafed5dba5b1f2bbbc2d5e5a130ea5c22a20fb9b00a95b6',
    )
  })

  it('are refused when a file was changed after it was applied', () => {
    const changed = { ...file('0001_a', 'expand', '1.8.0'), checksum: 'of another' }
    expect(() => pending([changed], false)).to.throw('the migration 0001_a was changed after it was applied')
  })
})
