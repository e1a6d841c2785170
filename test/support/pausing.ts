import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, randomInteger } from '../../clients/reporter/simulate/seeded-random.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { queryTurns } from '../../shared/clickhouse/query-turns.ts'

export type Pause = () => Promise<void>

/**
 * Makes random pauses.
 *
 * @param share the share of calls that pause
 * @param longestMs the longest pause
 */
export const pauseBy =
  (random: Random, share: number, longestMs: number): Pause =>
  async () => {
    if (random() < share) await sleep(randomInteger(random, longestMs))
  }

/** Wraps asynchronous functions with random pauses before and after each call. */
export const pausing = <T extends object>(functions: T, pause: Pause): T =>
  new Proxy(functions, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (typeof member !== 'function') return member
      return async (...given: unknown[]) => {
        await pause()
        const result: unknown = await (member as (...args: unknown[]) => Promise<unknown>).apply(
          target,
          given,
        )
        await pause()
        return result
      }
    },
  })

type Way<F extends (given: never) => unknown> = (given: Parameters<F>[0], usual: F) => ReturnType<F>

/** Enough turns that a paused query does not delay others. */
const FREE = queryTurns(1_000)
const FREE_TURNS: ClickHouse['turns'] = { mine: FREE.short, long: FREE.long }

/** Wraps a client, and replaces one of its methods. */
function doing<N extends 'query' | 'command'>(
  client: ClickHouse,
  what: N,
  way: Way<ClickHouse[N]>,
): ClickHouse {
  return new Proxy(client, {
    get(target, name, receiver) {
      if (name === 'turns') return FREE_TURNS
      const member: unknown = Reflect.get(target, name, receiver)
      if (typeof member !== 'function') return member
      const usual = member.bind(target) as ClickHouse[N]
      return name === what ? (given: Parameters<ClickHouse[N]>[0]) => way(given, usual) : usual
    },
  })
}

/** Wraps a client, and replaces its queries. @param ask gets the query and the original method */
export const asking = (client: ClickHouse, ask: Way<ClickHouse['query']>): ClickHouse =>
  doing(client, 'query', ask)

/** Wraps a client, and replaces its statements. */
export const commanding = (client: ClickHouse, command: Way<ClickHouse['command']>): ClickHouse =>
  doing(client, 'command', command)

/** Wraps a client, and pauses before each query. */
export const beforeQueries = (client: ClickHouse, pause: Pause): ClickHouse =>
  asking(client, async (given, query) => {
    await pause()
    return query(given)
  })

let staged = 0

/** A statement that computes rollups: the table, its columns, and the rest. */
const INTO = /^\s*INSERT INTO (usage_by_\w+) \(([^)]*)\)\s*(SELECT[\s\S]*)$/

/**
 * Wraps a client, and stores rollups some time after it has read their events, like a slow statement on a busy server.
 * The rollups may then be outdated when they are stored.
 *
 * @param pauseOf the pause in between, by table and epoch; undefined means no pause
 */
export const slowToStore = (
  client: ClickHouse,
  pauseOf: (table: string, epoch: unknown) => Pause | undefined,
): ClickHouse =>
  commanding(client, async (given, command) => {
    const [, table = '', columns = '', select = ''] = INTO.exec(given.query) ?? []
    const pause = table === '' ? undefined : pauseOf(table, given.query_params?.['epoch'])
    if (pause === undefined) return command(given)
    const aside = `aside_${++staged}`
    await command({
      query: `CREATE TABLE ${aside} ENGINE = Memory AS SELECT ${columns} FROM ${table} WHERE 0`,
    })
    try {
      const read = await command({
        ...given,
        query: `INSERT INTO ${aside} (${columns}) ${select}`,
      })
      await pause()
      await command({ query: `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${aside}` })
      return read
    } finally {
      await command({ query: `DROP TABLE ${aside}` })
    }
  })
