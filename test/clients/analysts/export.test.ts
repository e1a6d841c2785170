import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Manifest } from '../../../clients/analysts/export/manifest.ts'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { quoteLiteral } from '../../../shared/clickhouse/quote-literal.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { formatMicros } from '../../../shared/time/micros-text.ts'
import { skipFor } from '../../run/pending.ts'
import { askAt, AUTHORIZATION, PASSWORD } from '../../support/analysts.ts'
import { SEED } from '../../support/fault-seed.ts'
import { copyPrograms, installPython, requirePrograms, runIn } from '../../support/programs.ts'
import { type AnalystHost, startAnalystHost, TRIAL } from '../../support/start-analyst-host.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { exportWith } from '../core/run-program.ts'

const IS_LONG = process.env['FAULT_LONG'] === '1'
const DAY_S = 86_400
const MICROS = 1_000_000
/** 2025-01-01. */
const FIRST_S = 1_735_689_600
const DAYS = 8
/** Fewer than some days have, so that the server refuses some answers. */
const ANSWER_ROWS_MAX = 600

/** Usage that is exported every day. */
interface Daily {
  /** The name of its folders. */
  name: string
  firstS: number
  days: number
  rowsOfDay: (day: number) => number
  correctionsOfDay: number
  /** The `--since` of its first export; null exports all. */
  since: string | null
}
const FEW_DAYS: Daily = {
  name: 'day',
  firstS: FIRST_S,
  days: DAYS,
  rowsOfDay: () => 700,
  correctionsOfDay: 40,
  since: null,
}
/** It begins after these days. */
const A_YEAR: Daily = {
  name: 'of a year',
  firstS: FIRST_S + 2 * DAYS * DAY_S,
  days: 365,
  rowsOfDay: (day) => (day % 30 > 0 ? 60 : 700),
  correctionsOfDay: 10,
  since: new Date((FIRST_S + 2 * DAYS * DAY_S) * 1_000).toISOString(),
}

interface Changed {
  event_id: string
  is_void: boolean
  quantity: string
}

/** The formats, as ClickHouse calls them. */
const FORMATS = {
  parquet: 'Parquet',
  arrow: 'Arrow',
  csv: 'CSVWithNames',
  tsv: 'TabSeparatedWithNames',
  ndjson: 'JSONEachRow',
}

describe('npm run export', function () {
  this.timeout(IS_LONG ? 1_200_000 : 300_000)
  let host: AnalystHost
  let folder: string
  const env = () => ({ CLICKHOUSE_PASSWORD: PASSWORD, CLICKHOUSE_USER: 'analyst' })
  const wordsFor = (dir: string, ...more: string[]) => [
    '--url',
    host.url,
    '--dir',
    path.join(folder, dir),
    ...more,
  ]
  const run = (dir: string, ...more: string[]) => exportWith(wordsFor(dir, ...more), { env: env() })
  /** Exports as the analyst of one company, to whom the server does not say how many rows it sends. */
  const runAsAda = (dir: string, ...more: string[]) =>
    exportWith(wordsFor(dir, ...more), { env: { ...env(), CLICKHOUSE_USER: 'ada' } })
  const manifestOf = async (dir: string): Promise<Manifest> =>
    JSON.parse(await readFile(path.join(folder, dir, 'manifest.json'), 'utf8')) as Manifest
  const asOperator = async (query: string) => {
    const { status, text } = await askAt(host.url, query, {}, TRIAL)
    expect(status, text).to.equal(200)
    return text
  }
  const asAnalyst = async (query: string) => {
    const { status, text } = await askAt(host.url, query, {}, { authorization: AUTHORIZATION })
    expect(status, text).to.equal(200)
    return text
  }
  const store = (events: readonly UsageEvent[]) =>
    asOperator(`INSERT INTO tally.usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, corrected_at, voided, version)
      FORMAT JSONEachRow ${events
        .map((event) =>
          JSON.stringify({
            namespace_id: event.namespaceId,
            account_id: event.accountId,
            source: event.source,
            occurred_at: event.occurredAt,
            event_id: event.id,
            quantity: event.quantity,
            properties: event.properties,
            accepted_at: formatMicros(event.acceptedAt),
            corrected_at: event.correctedAt === null ? null : formatMicros(event.correctedAt),
            voided: Number(event.voided),
            version: String(event.version),
          }),
        )
        .join('\n')}`)
  const noteComplete = (at: number) =>
    asOperator(`INSERT INTO tally.usage_complete VALUES (1, '${formatMicros(at)}')`)

  // Why a separate engine: it has limits of its own, and the note up to when usage is complete is one for an engine.
  before(async () => {
    host = await startAnalystHost({ limits: { resultRows: ANSWER_ROWS_MAX }, names: ['ada'] })
    folder = path.join(await makeTempFolder('exports'), "it's; a\tfolder — 1")
  })
  after(() => host.stop())

  it('waits until Tally knows up to when events are complete', async () => {
    const { code, err } = await run('early', '--view', 'event_changes', '--format', 'csv')
    expect([code, err.trimEnd().split('\n').length]).to.deep.equal([1, 1])
    expect(err).to.match(/does not know yet/)
  })

  it('with --since: runs merged by event_id, less what is void, are events', async () => {
    await asOperator(
      `INSERT INTO tally.dimension_accounts (namespace_id, account_id, version) VALUES ('${NAMESPACE}', 'account_1', 1)`,
    )
    await exportDaily(FEW_DAYS)
  })

  async function exportDaily(daily: Daily): Promise<void> {
    const { name, firstS, days, rowsOfDay, correctionsOfDay } = daily
    const random = seededRandom(`exports ${name} ${SEED}`)
    const events: UsageEvent[] = []
    const copy = new Map<string, Changed>()
    let late: UsageEvent[] = []
    let { since } = daily
    for (let day = 0; day < days; day++) {
      const start = (firstS + day * DAY_S) * MICROS
      const at = () => start + randomInteger(random, DAY_S * MICROS)
      const changed: UsageEvent[] = []
      for (let n = 0; n < rowsOfDay(day); n++) {
        const acceptedAt = at()
        const occurredAt =
          Math.floor(acceptedAt / MICROS) - (n % 50 === 0 ? randomInteger(random, 3 * DAY_S) : 0)
        const quantity = `${randomInteger(random, 1e9)}.${String(1 + randomInteger(random, 1e9)).padStart(18, '0')}`
        changed.push(makeReport({ acceptedAt, occurredAt, quantity, properties: `{"day":"${day}"}` }))
      }
      const old = events.length
      events.push(...changed)
      for (let n = 0; n < correctionsOfDay && old > 0; n++) {
        const index = randomInteger(random, old)
        const corrected = makeCorrection(events[index] as UsageEvent, {
          correctedAt: at(),
          ...(n % 4 === 0 ? { voided: true } : { quantity: `${n}.5` }),
        })
        if (
          (corrected.correctedAt ?? 0) <= (events[index]?.correctedAt ?? 0) ||
          events[index]?.voided === true
        )
          continue
        events[index] = corrected
        changed.push(corrected)
      }
      // Up to here everything is stored. Of what is later a part is, and the rest comes after the export.
      const complete = start + Math.floor(DAY_S * MICROS * 0.9)
      const isLate = (event: UsageEvent, index: number) =>
        index % 2 === 0 && Math.max(event.acceptedAt, event.correctedAt ?? 0) >= complete
      await store([...late, ...changed.filter((event, index) => !isLate(event, index))])
      late = changed.filter(isLate)
      await noteComplete(complete)
      const words = [
        '--view',
        'event_changes',
        '--format',
        'ndjson',
        ...(since === null ? [] : ['--since', since]),
      ]
      const { code, err } = await run(`${name} ${day}`, ...words)
      expect(code, err).to.equal(0)
      since = (await takeOver(`${name} ${day}`, copy)).next_since
    }
    await store(late)
    await noteComplete((firstS + days * DAY_S) * MICROS)
    const { code, err } = await run(
      `${name}, the rest`,
      '--view',
      'event_changes',
      '--format',
      'ndjson',
      '--since',
      since ?? '',
    )
    expect(code, err).to.equal(0)
    await takeOver(`${name}, the rest`, copy)
    const merged = [...copy.values()]
      .filter((one) => !one.is_void)
      .map((one) => `${one.event_id}\t${one.quantity}\n`)
    const ofView = `FROM events WHERE accepted_at >= toDateTime64(${firstS}, 6, 'UTC')`
    const rows = Number(await asAnalyst(`SELECT count() ${ofView}`))
    expect(rows).to.be.greaterThan(days * 50)
    let now = ''
    for (let at = 0; at < rows; at += 500)
      now += await asAnalyst(
        `SELECT event_id, toString(quantity) ${ofView} ORDER BY event_id LIMIT 500 OFFSET ${at}`,
      )
    expect(merged.sort().join('')).to.equal(now)
    expect([...copy.values()].some((one) => one.is_void)).to.equal(true)
  }

  /** Reads the files of a run into a copy, and checks what the manifest says of them. */
  async function takeOver(dir: string, copy: Map<string, Changed>): Promise<Manifest> {
    const manifest = await manifestOf(dir)
    expect(manifest.is_complete).to.equal(true)
    let rows = 0
    for (const window of manifest.windows) {
      const bytes = await readFile(path.join(folder, dir, window.file))
      const lines = bytes
        .toString()
        .split('\n')
        .filter((line) => line !== '')
      expect([lines.length, bytes.length, digest(bytes)], window.file).to.deep.equal([
        window.rows,
        window.bytes,
        window.sha256,
      ])
      rows += lines.length
      for (const line of lines) {
        const row = JSON.parse(line) as Changed
        copy.set(row.event_id, row)
      }
    }
    expect(rows).to.equal(manifest.rows)
    return manifest
  }

  it('counts the rows of each file, whatever the server says of them', async () => {
    const names = ['line\nbreak', 'tab\tand "quotes"', '\n"\n', "back\\slash, '"]
    const rows = names.map((name, n) => `('${NAMESPACE}', 'account_${n + 2}', ${quoteLiteral(name)}, 1)`)
    await asOperator(
      `INSERT INTO tally.dimension_accounts (namespace_id, account_id, name, version) VALUES ${rows.join()}`,
    )
    const since = `${formatMicros((FIRST_S + (DAYS - 3) * DAY_S) * MICROS).replace(' ', 'T')}Z`
    for (const format of Object.keys(FORMATS) as (keyof typeof FORMATS)[]) {
      const accounts = ['--view', 'accounts', '--format', format]
      expect(await countedBy(format, `accounts in ${format}`, accounts)).to.equal(1 + names.length)
      const changes = ['--view', 'event_changes', '--format', format]
      const dir = `changes in ${format}`
      const counted = await countedBy(format, dir, [...changes, '--since', since])
      expect(counted).to.be.greaterThan(ANSWER_ROWS_MAX)
      // A file that is not there any more is written again, and counted again.
      const { windows } = await manifestOf(dir)
      await rm(path.join(folder, dir, windows[1]?.file ?? ''))
      expect(await countedBy(format, dir, [...changes, '--since', since])).to.equal(counted)
    }
  })

  /** Exports, and has the engine read the files. @returns the rows, when all that the export says of them is right */
  async function countedBy(format: keyof typeof FORMATS, dir: string, words: string[]): Promise<number> {
    const { code, err } = await runAsAda(dir, ...words)
    expect(code, err).to.equal(0)
    const { windows, rows, view } = await manifestOf(dir)
    const key = view === 'accounts' ? 'account_id' : 'event_id'
    let sum = 0
    for (const window of windows) {
      const file = quoteLiteral(path.join(folder, dir, window.file))
      const found = await asOperator(
        `SELECT uniqExact(${key}) FROM file(${file}, '${FORMATS[format]}', '${key} String')`,
      )
      expect(String(window.rows), `${dir}/${window.file}`).to.equal(found.trim())
      sum += Number(found)
    }
    expect(rows, dir).to.equal(sum)
    expect(err).to.contain(`\n${sum.toLocaleString('en-US')} rows in ${windows.length} files, complete in `)
    return sum
  }

  it('has a file with the columns when there are no rows', async () => {
    const { next_since: next } = await manifestOf('day, the rest')
    for (const format of Object.keys(FORMATS) as (keyof typeof FORMATS)[]) {
      const dir = `nothing in ${format}`
      const words = ['--view', 'event_changes', '--format', format, '--since', next ?? '']
      expect(await countedBy(format, dir, words)).to.equal(0)
      const { windows } = await manifestOf(dir)
      expect(windows.map(({ file }) => file)).to.deep.equal([`event_changes.${format}`])
      const bytes = await readFile(path.join(folder, dir, `event_changes.${format}`), 'latin1')
      if (format !== 'ndjson') expect(bytes, format).to.contain('quantity')
    }
  })

  it('killed with kill -9 at any moment and started again, it ends with the same files', async () => {
    const words = ['--view', 'event_changes', '--format', 'parquet']
    expect((await run('in one run', ...words)).code).to.equal(0)
    const whole = await contentOf('in one run')
    const main = path.join(PROJECT_ROOT, 'dist/clients/analysts/export.main.js')
    const random = seededRandom(`kills ${SEED}`)
    let code: number | null = null
    for (let kills = 0; code !== 0; kills++) {
      const child = spawn(process.execPath, [main, ...wordsFor('killed', ...words)], {
        env: { ...process.env, ...env() },
        stdio: 'ignore',
      })
      const ended = once(child, 'exit') as Promise<[number | null]>
      if (kills < 6) {
        await Promise.race([sleep(150 + randomInteger(random, 500)), ended])
        child.kill('SIGKILL')
      }
      ;[code] = await ended
      for (const [file, sha256] of (await contentOf('killed')).files)
        expect(sha256, `${file} after ${kills} kills`).to.equal(whole.files.get(file))
    }
    const { files, manifest } = await contentOf('killed')
    expect(files).to.deep.equal(whole.files)
    expect(manifest).to.deep.equal(whole.manifest)
    expect((await run('killed', ...words)).err).to.match(/complete in/)
  })

  /** The digests of all whole files, and the manifest but for its times. */
  async function contentOf(dir: string) {
    const files = new Map<string, string>()
    for (const file of (await readdir(path.join(folder, dir)).catch(() => [])).sort())
      if (file.endsWith('.parquet')) files.set(file, digest(await readFile(path.join(folder, dir, file))))
    const manifest = await manifestOf(dir).catch(() => undefined)
    return { files, manifest: { ...manifest, started_at: '', finished_at: '' } }
  }

  it('writes views without times as one file, and decimals as plain text', async () => {
    for (const view of ['accounts', 'daily_totals', 'events']) {
      const { code, err } = await run(view, '--view', view, '--format', 'csv')
      expect(code, err).to.equal(0)
    }
    const accounts = await readFile(path.join(folder, 'accounts/accounts.csv'), 'utf8')
    expect(accounts).to.match(/^"namespace_id","account_id",.*\n.*"account_1",/)
    const { windows, next_since: next } = await manifestOf('daily_totals')
    const totals = await readFile(path.join(folder, 'daily_totals', windows[0]?.file ?? ''), 'utf8')
    expect(totals.split('\n')[1]).to.match(/^"[^"]*","2024-12-\d\d",\\N,"usd",\d+\.\d{1,18},\d+$/)
    expect(next).to.equal(null)
    expect((await manifestOf('events')).rows).to.equal(Number(await asAnalyst('SELECT count() FROM events')))
  })

  it('says in one sentence what is wrong', async () => {
    const sentence = async (words: string[], given: Record<string, string> = env()) => {
      const { code, err } = await exportWith(words, { env: given })
      expect([code, err.trimEnd().split('\n').length], err).to.deep.equal([1, 1])
      return err
    }
    const all = (dir: string, view = 'event_changes') => wordsFor(dir, '--view', view, '--format', 'csv')
    expect(await sentence(all('w'), { CLICKHOUSE_PASSWORD: 'wrong' })).to.match(
      /password of CLICKHOUSE_PASSWORD is wrong/,
    )
    expect(await sentence(all('w', 'nothing'))).to.match(/no view nothing; there are: accounts, /)
    expect(await sentence([...all('w'), '--url', 'http://127.0.0.1:1'])).to.match(
      /cannot reach .*ECONNREFUSED/,
    )
    expect(await sentence([...all('w'), '--password-file', '/no/such'])).to.match(
      /cannot read the password in \/no\/such/,
    )
    expect(await sentence(all('killed'))).to.match(/has another export: its format is parquet, not csv/)
    await mkdir(path.join(folder, 'mine'))
    await writeFile(path.join(folder, 'mine/letter.txt'), '')
    expect(await sentence(all('mine'))).to.match(/is not empty/)
    await mkdir(path.join(folder, 'full'))
    await symlink('/dev/full', path.join(folder, 'full/accounts.csv.part'))
    expect(await sentence(all('full', 'accounts'))).to.match(/the disk of .* is full/)
    expect(await sentence([...all('w').slice(0, 2), '--dir', '/dev/null/x', ...all('w').slice(4)])).to.match(
      /cannot write to \/dev\/null\/x/,
    )
    expect((await run('w', '--view', 'events', '--format', 'csv', '--since', '2026-01-01')).code).to.equal(2)
  })

  it('gives no file its name when the server goes away in the middle, or refuses', async () => {
    let isAway = true
    const server = createServer((req, res) => {
      req.resume().on('end', () => undefined)
      let query = ''
      req.on('data', (part: Buffer) => (query += part.toString()))
      req.on('end', () => {
        const summary = { 'x-clickhouse-summary': '{"result_rows":"1"}' }
        const answer = query.startsWith('DESCRIBE')
          ? '["view","String"]\n'
          : query.includes('now64')
            ? '["2026-01-01 00:00:00.000000"]\n'
            : '[0,null,1]\n'
        if (!query.includes('FORMAT CSV')) res.writeHead(200, summary).end(answer)
        else if (isAway) res.writeHead(200, summary).write('half of ', () => res.destroy())
        else res.writeHead(403, { 'x-clickhouse-exception-code': '497' }).end('Code: 497.')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const words = ['--url', url, '--dir', path.join(folder, 'away'), '--view', 'accounts', '--format', 'csv']
    const away = await exportWith(words, { env: env() })
    expect(away.code).to.equal(1)
    expect(away.err).to.match(/connection was lost .*run the same command again/)
    expect((await readdir(path.join(folder, 'away'))).sort()).to.deep.equal([
      'accounts.csv.part',
      'manifest.json',
    ])
    isAway = false
    const refused = await exportWith(words, { env: env() })
    expect([refused.code, refused.err]).to.deep.equal([1, 'analyst may not read the view accounts\n'])
    server.close()
    server.closeAllConnections()
  })

  it('pyarrow, polars and DuckDB read the files, and sum to the digit', async function () {
    if (process.env['FAULT_LONG'] !== '1')
      return skipFor(this, 'installs packages for a minute: FAULT_LONG=1')
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    const programs = await copyPrograms('clients/analysts/python')
    await installPython(programs)
    const { hostname, port } = new URL(host.url)
    const words = ['read_export.py', path.join(folder, 'in one run'), hostname, port, 'analyst', PASSWORD]
    const [rows = '', sum = ''] = (await asAnalyst('SELECT count(), sum(quantity) FROM event_changes'))
      .trimEnd()
      .split('\t')
    const limited = await asAnalyst(
      'SELECT sum(quantity) FROM (SELECT quantity FROM events ORDER BY event_id LIMIT 100)',
    )
    expect((await runIn(programs, 'venv/bin/python', words)).trimEnd().split('\n')).to.deep.equal([
      `pyarrow ${rows} ${padded(sum)}`,
      'pyarrow decimal128(38, 18) timestamp[us, tz=UTC] timestamp[us, tz=UTC] bool string',
      `polars ${rows} ${padded(sum)}`,
      `duckdb ${rows} ${padded(sum)}`,
      `from_arrow ${padded(limited.trimEnd())}`,
    ])
  })

  // It comes last, as other tests export all that there is.
  if (IS_LONG)
    it('with --since every day of a year, too', async () => {
      await exportDaily(A_YEAR)
    })
})

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** A sum with all 18 places. */
const padded = (text: string): string => {
  const [whole = '', fraction = ''] = text.split('.')
  return `${whole}.${fraction.padEnd(18, '0')}`
}
