import { expect } from 'chai'
import fc from 'fast-check'
import { listOperations, type Operation, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { memberSchema, requestSchema } from '../../shared/http/request-schema.ts'
import type { ApiClient } from '../support/api-client.ts'
import type { TallyUnderTest } from '../support/tally-under-test.ts'
import { shareRequestWorld, TRIES, type World } from './requests.ts'

/** Text in a query that JavaScript reads as a number, or that looks like a number. */
const NO_INTEGERS = [
  'Infinity',
  '-Infinity',
  'NaN',
  '1e999',
  '1e400',
  '1e1',
  '5.0',
  '0x1',
  '0b1',
  '0o7',
  '1_0',
  '%201',
  '1%20',
  '%20',
  '+1', // in a query, + is a blank
  '%2B1',
  '%D9%A1', // the Arabic digit 1
  '%EF%BB%BF1',
  '1%0A',
  '--1',
  '1234567890123456', // 16 digits
  'true',
  'null',
  '[1]',
  '',
]

describe('query parameters of every GET of openapi.yaml', function () {
  this.timeout(60_000)
  const document = readOpenApiDocument()
  const gets = listOperations(document).filter(({ method }) => method === 'get')
  let tally: TallyUnderTest
  let api: ApiClient
  let world: World

  before(async () => {
    // Why in one layout: only the API answers, and most queries are refused before anything is read.
    ;({ tally, api, world } = await shareRequestWorld())
  })
  after(() => tally.end())

  const typesOf = (operation: Operation, where: string): Map<string, string> => {
    const schema = requestSchema(document, operation, where) ?? {}
    return new Map(
      Object.keys(schema.properties ?? {}).map((name) => [
        name,
        String(memberSchema(document, schema, name)?.type),
      ]),
    )
  }
  const integersOf = (operation: Operation): string[] =>
    [...typesOf(operation, 'query')].filter(([, type]) => type === 'integer').map(([name]) => name)
  const withIntegers = gets.filter((operation) => integersOf(operation).length > 0)

  /** A valid query, except that one parameter has these values. */
  const targetOf = async (operation: Operation, name: string, values: readonly string[]): Promise<string> => {
    const good = await TRIES[operation.operationId]?.good(world)
    const [path = '', query = ''] = (good?.target ?? '').split('?')
    const others = query.split('&').filter((pair) => pair !== '' && !pair.startsWith(`${name}=`))
    return `${path}?${[...others, ...values.map((value) => `${name}=${value}`)].join('&')}`
  }

  it('are whole numbers, booleans, text or lists: nothing else is looked at before it is coerced', () => {
    const types = listOperations(document).flatMap((operation) => [
      ...[...typesOf(operation, 'query').values()].filter(
        (type) => !['integer', 'boolean', 'string', 'array'].includes(type),
      ),
      ...[...typesOf(operation, 'params').values(), ...typesOf(operation, 'headers').values()].filter(
        (type) => type !== 'string',
      ),
    ])
    expect(types).to.deep.equal([])
    expect(withIntegers).to.have.length.above(15)
  })

  it('that are whole numbers are written in digits: all else is refused, by name', async () => {
    for (const operation of withIntegers)
      for (const name of integersOf(operation))
        await Promise.all(
          NO_INTEGERS.map(async (value) => {
            const target = await targetOf(operation, name, [value])
            const { status, text } = await api.get(target)
            expect([status, text.split(':')[0]], `${target}: ${text}`).to.deep.equal([400, name])
          }),
        )
  })

  it('that are booleans are `true` or `false`: all else is refused, by name', async () => {
    const booleans = gets.flatMap((operation) =>
      [...typesOf(operation, 'query')].flatMap(([name, type]) =>
        type === 'boolean' ? [{ operation, name }] : [],
      ),
    )
    expect(booleans).to.have.length.above(0)
    for (const { operation, name } of booleans) {
      for (const value of ['true', 'false'])
        expect((await api.get(await targetOf(operation, name, [value]))).status).to.equal(200)
      for (const value of ['1', '0', 'TRUE', 'False', 'yes', 'on', 'null', '%20true', 'true%20', '[true]']) {
        const target = await targetOf(operation, name, [value])
        const { status, text } = await api.get(target)
        expect([status, text.split(':')[0]], `${target}: ${text}`).to.deep.equal([400, name])
      }
    }
  })

  it('that are whole numbers are refused in the words that any other fault has', async () => {
    const refusalOf = async (target: string) => (await api.get(target)).text
    expect(await refusalOf('/v2/accounts?limit=1e1')).to.equal('limit: must be a whole number')
    expect(await refusalOf(`/v2/accounts/${world.account}/usage?start_at=%20&end_at=1`)).to.equal(
      'start_at: must be a whole number such as 1700158623',
    )
  })

  it('that are whole numbers are taken with up to 15 digits', async () => {
    const range = `/v2/accounts/${world.account}/usage?end_at=253402300799&start_at=`
    expect((await api.get(`${range}1700000000`)).status).to.equal(200)
    expect((await api.get(`${range}000001700000000`)).status).to.equal(200)
    expect((await api.get('/v2/accounts?limit=-1')).text).to.equal('limit: must be >= 1')
  })

  it('that are whole numbers never bring about a fault of ours, whatever they are', async () => {
    const [operations, text] = [
      fc.constantFrom(...withIntegers),
      fc.string({ unit: 'binary', maxLength: 20 }),
    ]
    const numbers = fc.oneof(fc.double(), fc.bigInt(), fc.integer()).map(String)
    await fc.assert(
      fc.asyncProperty(operations, fc.nat(), fc.oneof(text, numbers), async (operation, nth, value) => {
        const names = integersOf(operation)
        const name = names[nth % names.length] ?? ''
        const { status } = await api.get(await targetOf(operation, name, [encodeURIComponent(value)]))
        expect(status).to.be.oneOf(/^-?\d{1,15}$/.test(value) ? [200, 400, 422] : [400])
      }),
      { numRuns: 300 },
    )
  })

  it('are given once, without brackets', async () => {
    for (const operation of gets)
      for (const name of typesOf(operation, 'query').keys()) {
        const twice = await api.get(await targetOf(operation, name, ['1', '1']))
        expect([twice.status, twice.text]).to.deep.equal([400, `${name}: must not be given more than once`])
        for (const other of [`${name}[]`, `${name}[0]`, `${name}[a]`]) {
          const { status, text } = await api.get(await targetOf(operation, other, ['1']))
          expect([status, text]).to.deep.equal([400, `${other}: is not a parameter of this request`])
        }
      }
  })
})
