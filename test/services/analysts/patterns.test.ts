import { expect } from 'chai'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { type AnalystEndpoint, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'

const LONG = 'a?'.repeat(2_049)
/** A call of each function with a pattern. */
const CALLS: readonly ((pattern: string) => string)[] = [
  ...['match', 'like', 'ilike', 'notLike', 'notILike', 'extract', 'extractAll', 'countMatches'].map(
    (name) => (pattern: string) => `${name}(event_id, ${pattern})`,
  ),
  ...['extractAllGroupsHorizontal', 'extractAllGroupsVertical', 'extractGroups', 'regexpExtract'].map(
    (name) => (pattern: string) => `${name}(event_id, ${pattern})`,
  ),
  (pattern) => `countMatchesCaseInsensitive(event_id, ${pattern})`,
  (pattern) => `regexpPosition(event_id, ${pattern})`,
  (pattern) => `replaceRegexpAll(event_id, ${pattern}, 'x')`,
  (pattern) => `replaceRegexpOne(event_id, ${pattern}, 'x')`,
  (pattern) => `REGEXP_REPLACE(event_id, ${pattern}, 'x')`,
  (pattern) => `event_id REGEXP ${pattern}`,
  (pattern) => `event_id NOT ILIKE ${pattern}`,
  (pattern) => `splitByRegexp(${pattern}, event_id)`,
  ...['mapContainsKeyLike', 'mapContainsValueLike', 'mapExtractKeyLike', 'mapExtractValueLike'].map(
    (name) => (pattern: string) => `${name}(map('a', event_id), ${pattern})`,
  ),
]

/** An expression that processes a computed list for each value. */
const LIST = 'arrayMap(y -> toNullable(y), range(20000))'
const SEARCHES = [
  `arrayCount(x -> has(${LIST}, x + 1000000), range(20000))`,
  `arrayCount(x -> indexOf(${LIST}, x + 1000000) > 0, range(20000))`,
  `arrayCount(x -> countEqual(${LIST}, x + 1000000) > 0, range(20000))`,
  'arrayCount(x -> mapContainsKey(mapFromArrays(range(20000), range(20000)), x + 1000000), range(20000))',
  `has(${LIST}, rand())`,
  `has(${LIST}, length(event_id))`,
]

describe('patterns and lists in queries of analysts', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  const select = (what: string) => endpoint.ask(`SELECT ${what} FROM events`)

  before(async () => {
    clickhouse = await createClickHouse('patterns')
    endpoint = await startAnalysts(clickhouse)
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  it('are refused when they are longer than 4 kB', async () => {
    for (const call of CALLS) {
      const { status, text } = await select(call(`'${LONG}'`))
      expect([status, text], call('…')).to.satisfy(
        () => status === 403 && text.includes('at most 4096 bytes'),
      )
    }
    const columns = await select(`COLUMNS('${LONG}')`)
    expect(columns.text).to.include('at most 4096 bytes')
    // A text literal that looks like the beginning of a COLUMNS expression does not hide the real one.
    expect((await select(`'x COLUMNS(', COLUMNS('${LONG}')`)).text).to.include('at most 4096 bytes')
  })

  it('are refused when they are computed', async () => {
    for (const call of CALLS) {
      const { status, text } = await select(call("concat('a', 'b')"))
      expect([status, text], call('…')).to.satisfy(() => status === 403 && text.includes('must be a literal'))
    }
  })

  it('are refused when counts make them longer than 4 kB', async () => {
    for (const pattern of [
      '(((_?.?){9}){9}){9}zz(((_?.?){9}){9}){9}zz',
      '((a{1,70}){60})',
      String.raw`([[:alpha:](]a{70}){60}`,
      String.raw`([\\](]aaa){900}`,
      String.raw`(\\Q(\\Eaaaa){900}`,
      String.raw`(\\\\(a){70}){70}`,
    ])
      expect((await select(`match(event_id, '${pattern}')`)).text, pattern).to.include('at most 4096 bytes')
  })

  it('run when they are short', async () => {
    const uuid = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
    for (const call of CALLS) {
      const { status, text } = await select(call("'(a+).*'"))
      expect(status, `${call('…')}: ${text}`).to.equal(200)
    }
    for (const what of [
      `match(event_id, '${uuid}')`,
      String.raw`extract(event_id, '(\\d{1,3}\\.){3}\\d{1,3}')`,
      String.raw`extract(event_id, '[\'()]{3}')`,
      "COLUMNS('^event_.{2}$')",
      "has(['a', 'b'], event_id)",
      "indexOf(splitByChar(',', event_id), 'b')",
      "countEqual([1, 2, 2], length(event_id)), has(extractAll(event_id, 'a'), 'b')",
    ])
      expect((await select(what)).text, what).to.not.include('Exception')
    const params = await endpoint.ask('SELECT count() FROM events WHERE event_id LIKE {p:String}', {
      param_p: 'a%',
    })
    expect(params.text).to.equal('0\n')
  })

  it('text grows by lengths that are written out', async () => {
    for (const [call, expected] of [
      ["leftPad('7', 3, '0')", '007'],
      ["rightPadUTF8('ä', 3, '.')", 'ä..'],
      ["repeat('ab', 3)", 'ababab'],
    ] as const)
      expect((await endpoint.ask(`SELECT ${call}`)).text).to.equal(`${expected}\n`)
    for (const call of [
      'leftPad(event_id, 1001)',
      'leftPad(event_id, length(event_id))',
      "leftPad('x', -1)",
      'rightPad(event_id, materialize(9))',
      "repeat('x', 1001)",
      'repeat(event_id, 2)',
      "repeat(repeat('x', 1000), 1000)",
      `repeat('${'x'.repeat(2_000)}', 2)`,
    ]) {
      const { status, text } = await select(call)
      expect([status, text], call).to.satisfy(() => status === 403 && text.includes('must be a literal'))
    }
  })

  it('lists that are computed are not gone through for each row', async () => {
    for (const search of SEARCHES) {
      const { status, text } = await select(search)
      expect([status, text], search).to.satisfy(() => status === 403 && text.includes('must be a literal'))
    }
  })
})
