import { expect } from 'chai'
import {
  ALLOWED_AGGREGATES,
  ALLOWED_FUNCTIONS,
  TYPE_ARGUMENT_OF,
  ZONE_ARGUMENT_OF,
} from '../../../services/analysts/judge/allowed-functions.ts'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { ChdbSession } from '../../../shared/clickhouse/embedded/chdb-session.ts'
import { type AnalystEndpoint, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'

/** A text whose error shows how a function read it: as a time zone of this name, or as a data type with one. */
const PROBE = String.raw`'DateTime(\'No/Such\')'`
const TAKEN_FOR_ZONE = "Cannot load time zone DateTime('No/Such')"
const TAKEN_FOR_TYPE = /Cannot load time zone No\/Such|must be a valid type name. Got: DateTime\('No\/Such'\)/

const [TIME, TEXT, NUMBER, UNIT, FORMAT] = ['now()', "'2026-01-01'", '7', "'day'", "'%Y'"]

/** Lists of arguments with the probe at every position. The other arguments have types that functions accept. */
const ARGUMENTS = [
  [[PROBE]],
  [[TIME, TEXT, NUMBER, "'x'::Dynamic"], [PROBE]],
  [[PROBE], [TIME, NUMBER]],
  [[TIME, TEXT, NUMBER, UNIT], [TIME, NUMBER, FORMAT, 'INTERVAL 1 DAY'], [PROBE]],
  [[TIME, TEXT, NUMBER], [PROBE], [NUMBER]],
  [[PROBE], [NUMBER], [TEXT]],
  [[UNIT, NUMBER], [TIME, NUMBER], [TIME, NUMBER], [PROBE]],
  ...[4, 6, 8].map((place) => [...Array.from({ length: place }, () => [NUMBER]), [PROBE]]),
].flatMap(combinations)

/** The error of too many or too few arguments, for which the positions do not matter. */
const WRONG_NUMBER = /Code: (?:34|35|42|62)\./

interface Find {
  call: (argument: string) => string
  name: string
  place: number
  places: number
}

describe('the functions that analysts may use', function () {
  this.timeout(60_000)
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  const zones: Find[] = []
  const types: Find[] = []

  /** Calls a function with every combination of arguments. */
  const probe = async (session: ChdbSession, name: string) => {
    const wrongNumbers = new Set<number>()
    for (const args of ARGUMENTS) {
      if (wrongNumbers.has(args.length)) continue
      const place = args.indexOf(PROBE)
      const call = (argument: string) => `SELECT ${name}(${args.with(place, argument).join(', ')})`
      const message = await session.run({ text: call(PROBE), settings: {} }).then(
        () => '',
        (err: unknown) => String(err),
      )
      if (WRONG_NUMBER.test(message)) wrongNumbers.add(args.length)
      const find = { call, name, place, places: args.length }
      if (message.includes(TAKEN_FOR_ZONE)) zones.push(find)
      else if (TAKEN_FOR_TYPE.test(message)) types.push(find)
    }
  }

  before(async () => {
    clickhouse = await createClickHouse('allowed functions')
    endpoint = await startAnalysts(clickhouse)
    const { engine } = clickhouse
    if (engine === undefined) throw new Error('not embedded')
    const names = [...ALLOWED_FUNCTIONS]
    const probeSome = async () => {
      const session = await ChdbSession.open({ ...engine, setup: 'SET max_threads = 1' })
      for (let name = names.pop(); name !== undefined; name = names.pop()) await probe(session, name)
      session.close()
    }
    await Promise.all([probeSome(), probeSome()])
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  /** Keeps one call for each function and position. */
  const distinct = (finds: readonly Find[]): Find[] => [
    ...new Map(finds.map((find) => [`${find.name} ${find.place}`, find])).values(),
  ]
  const firstPlaces = (finds: readonly Find[]): Map<string, number> => {
    const first = new Map<string, number>()
    for (const { name, place } of finds) first.set(name, Math.min(place, first.get(name) ?? place))
    return first
  }

  it('exist in this engine', async () => {
    const rows = await queryRows<{ name: string; is_aggregate: number }>(
      clickhouse.client,
      "SELECT name, is_aggregate FROM system.functions WHERE alias_to = ''",
      {},
    )
    const namesOf = (aggregate: number) =>
      rows.filter(({ is_aggregate }) => is_aggregate === aggregate).map(({ name }) => name)
    expect(namesOf(0)).to.include.members([...ALLOWED_FUNCTIONS])
    expect(namesOf(1)).to.include.members([...ALLOWED_AGGREGATES])
  })

  it('take a time zone nowhere but where it is looked at', () => {
    expect(firstPlaces(zones)).to.deep.equal(ZONE_ARGUMENT_OF)
  })

  it('take a data type nowhere but where it is looked at', () => {
    for (const { name, place, places } of types) {
      const looked = TYPE_ARGUMENT_OF.get(name) ?? NaN
      expect(looked < 0 ? places + looked : looked, `${name}, argument ${place}`).to.equal(place)
    }
    expect([...firstPlaces(types).keys()]).to.have.members([...TYPE_ARGUMENT_OF.keys()])
  })

  it('open no file as a time zone, in whatever place and form it is named', async () => {
    const forms = ["'file:/etc/hostname'", "concat('file', ':/etc/hostname')", "lower('FILE:/ETC/HOSTNAME')"]
    for (const [i, { call }] of distinct(zones).entries()) {
      const { status, text } = await endpoint.ask(call(forms[i % forms.length] ?? ''))
      expect(text, call('…')).to.match(/Cannot load time zone "file:|a time zone must be a literal/)
      expect(status).to.be.oneOf([400, 403])
    }
  })

  it('take no type with a file as its time zone', async () => {
    const form = String.raw`'DateTime(\'file:/etc/hostname\')'`
    for (const { call } of distinct(types)) {
      const { text } = await endpoint.ask(call(form))
      expect(text, call('…')).to.match(/the data type .* is not allowed here|must be a literal/)
    }
  })
})

function combinations(places: readonly (readonly string[])[]): string[][] {
  return places.reduce<string[][]>(
    (all, options) => all.flatMap((args) => options.map((option) => [...args, option])),
    [[]],
  )
}
