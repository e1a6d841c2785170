import { expect } from 'chai'
import { analystViewNames } from '../../../shared/clickhouse/views-contract.ts'
import { askAt, AUTHORIZATION, PASSWORD, USER } from '../../support/analysts.ts'
import { buildGo, copyPrograms, installPython, requirePrograms, runIn } from '../../support/programs.ts'
import { type AnalystHost, startAnalystHost, TRIAL } from '../../support/start-analyst-host.ts'
import { ACCOUNT } from '../../support/usage-event.ts'

/** Long, because the first run fetches packages over the network. */
const TIMEOUT_MS = 600_000
const EVENTS = 20_000
/** No double holds this quantity exactly, because its last digit is the 28th. */
const QUANTITY = '1234567890.000000000000000001'
const SUM = '24691357800000.00000000000002'
/** The sum in the form of drivers, with 18 decimal places. */
const PADDED_SUM = `${SUM}0000`
const VIEWS = analystViewNames().sort().join(' ')
const DATABASE = 'tally_analytics'

describe('drivers of analysts, with their default settings', function () {
  this.timeout(TIMEOUT_MS)
  let host: AnalystHost
  let columns: string

  // Why a separate engine: the analysts' role sees the views of all databases in the engine, including those of other
  // tests.
  before(async () => {
    host = await startAnalystHost()
    const stored = await askAt(
      host.url,
      `INSERT INTO tally.usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version)
      SELECT 'n', '${ACCOUNT}', 'usd', toDateTime(1767225600 + number), concat('event_', hex(toUInt32(1767225600 + number)), leftPad(toString(number), 24, '0')), toDecimal128('${QUANTITY}', 18), '{}', now64(6), 1
      FROM numbers(${EVENTS})`,
      {},
      TRIAL,
    )
    expect(stored.status, stored.text).to.equal(200)
    const described = await askAt(
      host.url,
      "SELECT name FROM system.columns WHERE table = 'events'",
      {},
      { authorization: AUTHORIZATION },
    )
    columns = described.text.trim().split('\n').join(' ')
  })
  after(async () => {
    await host.stop()
  })

  const address = () => new URL(host.url).host
  /** Runs a program, and returns its output lines as names and values. */
  const told = async (folder: string, program: string, words: string[]): Promise<string[][]> => {
    const printed = await runIn(folder, program, words)
    return printed
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t'))
  }

  it('clickhouse-jdbc for Java: selects, prepares, describes', async function () {
    requirePrograms(this, 'REQUIRE_MAVEN', [
      ['mvn', '--version'],
      ['javac', '--version'],
    ])
    const folder = await copyPrograms('services/analysts/clients/java')
    await runIn(folder, 'mvn', [
      '-B',
      '-q',
      'compile',
      'dependency:copy-dependencies',
      '-DoutputDirectory=libs',
    ])
    const words = ['-cp', 'target/classes:libs/*', 'AskAsAnalyst', address(), USER, PASSWORD, ACCOUNT]
    expect(await told(folder, 'java', words)).to.deep.equal([
      ['sum', PADDED_SUM],
      ['rows', String(EVENTS)],
      ['max rows', '7'],
      ['error', '47'],
      ['prepared', String(EVENTS)],
      ['schemas', DATABASE],
      ['tables', VIEWS],
      ['columns', columns],
      ['functions', 'quantileExact'],
      ['types', 'Decimal256'],
      ['keys', ''],
      ['keys', ''],
      ['keys', ''],
    ])
  })

  it('clickhouse-go for Go and Grafana: with each way of compression', async function () {
    requirePrograms(this, 'REQUIRE_GO', [['go', 'version']])
    const folder = await copyPrograms('services/analysts/clients/go')
    await buildGo(folder, 'ask')
    const words = [address(), USER, PASSWORD, ACCOUNT]
    expect(await told(folder, './ask', words)).to.deep.equal(
      ['none', 'lz4', 'zstd', 'gzip'].map((way) => [way, `${SUM} ${EVENTS} ${EVENTS} 47`]),
    )
  })

  it('clickhouse-connect for Python and its SQLAlchemy dialect: query, stream, reflect', async function () {
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    const folder = await copyPrograms('services/analysts/clients/python')
    await installPython(folder)
    const { hostname, port } = new URL(host.url)
    const words = ['ask_as_analyst.py', hostname, port, USER, PASSWORD, ACCOUNT]
    expect(await told(folder, 'venv/bin/python', words)).to.deep.equal([
      ...['True', 'False', 'lz4', 'zstd', 'gzip'].map((compress) => [`sum ${compress}`, PADDED_SUM]),
      ['parameter', String(EVENTS)],
      ['rows', String(EVENTS)],
      ['command', VIEWS],
      ['error', '47'],
      ['views', VIEWS],
      ['columns', columns],
      ['reflected', String(columns.split(' ').length)],
      ['selected', PADDED_SUM],
    ])
  })
})
