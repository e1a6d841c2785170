import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  type EventLog,
  type LogConsumer,
  type LogRecord,
  RECORD_BYTES_MAX,
} from '../../../shared/event-log/event-log.ts'
import { until } from '../../support/until.ts'

/**
 * The functions of a driver for these tests: they make topics, and open a log several times, like several processes.
 */
export interface LogDriver {
  /** A new topic with this many partitions. */
  makeTopic(partitions: number): Promise<string>
  /** Opens a topic like a further process; the suite closes it. */
  open(topic: string): Promise<EventLog>
  /**
   * Whether an append of a topic was sent again because its answer was late. Its records may then be in the log twice.
   */
  hasSentAgain(topic: string): boolean
  /** Makes polls of a topic fail until the returned function ends the fault. Appends still succeed. */
  breakReads(topic: string): Promise<() => Promise<void>>
}

const GROUP = 'loader'
const POLL = { bytesMax: 10_000_000, waitMs: 200 }

/** Tests of all behaviour on which gateway, loader and audit rely. Every driver of the event log must pass them. */
export function eventLogContract(driverName: string, makeDriver: () => Promise<LogDriver>): void {
  describe(`event log contract: ${driverName}`, function () {
    this.timeout(60_000)
    let driver: LogDriver
    let opened: { close(): Promise<void> }[] = []

    before(async () => {
      driver = await makeDriver()
    })
    afterEach(async () => {
      for (const part of opened.toReversed()) await part.close()
      opened = []
    })

    const open = async (topic: string): Promise<EventLog> => {
      const log = await driver.open(topic)
      opened.push(log)
      return log
    }
    const join = async (log: EventLog, group = GROUP): Promise<LogConsumer> => {
      const consumer = await log.join(group)
      opened.push(consumer)
      return consumer
    }
    const leave = async (consumer: LogConsumer): Promise<void> => {
      opened.splice(opened.indexOf(consumer), 1)
      await consumer.close()
    }
    const record = (partition: number, text: string, acceptedAt = 1_700_000_000_000_000) => ({
      partition,
      acceptedAt,
      value: Buffer.from(text),
    })

    it('gives back what was appended, byte for byte, in order, with offsets from 0 and without gaps', async () => {
      const log = await open(await driver.makeTopic(3))
      const values = [Buffer.from(''), Buffer.from([0, 255, 10, 13, 0]), randomBytes(100_000)]
      values.push(randomBytes(RECORD_BYTES_MAX), Buffer.alloc(RECORD_BYTES_MAX, 'a'), Buffer.from('ü€😀\0'))
      for (const value of values)
        await log.append([{ partition: 1, acceptedAt: 1_700_000_000_123_457, value }])
      const read = await drain(await join(log), values.length)
      expect(read.map(({ partition, offset }) => [partition, offset])).to.deep.equal(
        values.map((_, i) => [1, i]),
      )
      expect(read.every(({ value }, i) => values[i]?.equals(value))).to.equal(true)
      expect(new Set(read.map(({ acceptedAt }) => acceptedAt))).to.deep.equal(
        new Set([1_700_000_000_123_457]),
      )
    })

    it('keeps the order of the records of one call within each partition', async () => {
      const log = await open(await driver.makeTopic(2))
      await log.append([record(0, 'a'), record(1, 'x'), record(0, 'b'), record(1, 'y'), record(0, 'c')])
      const read = await drain(await join(log), 5)
      expect(textsOf(read, 0)).to.deep.equal(['a', 'b', 'c'])
      expect(textsOf(read, 1)).to.deep.equal(['x', 'y'])
    })

    it('loses nothing and doubles nothing when several processes append at once', async () => {
      const topic = await driver.makeTopic(4)
      const logs = await Promise.all([open(topic), open(topic), open(topic)])
      const sent: string[] = []
      await Promise.all(
        logs.flatMap((log, process) =>
          Array.from({ length: 40 }, async (_, n) => {
            const texts = [0, 1, 2, 3]
              .filter((p) => (n >> p) % 2 === 0)
              .map((p) => ({ p, text: `${process}-${n}-${p}` }))
            sent.push(...texts.map(({ text }) => text))
            await log.append(texts.map(({ p, text }) => record(p, text)))
          }),
        ),
      )
      const [first] = logs
      const consumer = await join(first)
      // By position, because records that a slow member had got are given to another member again.
      const byPlace = new Map<string, LogRecord>()
      const texts = () => [...byPlace.values()].map(({ value }) => value.toString()).sort()
      await until(async () => {
        for (const one of await consumer.poll(POLL)) byPlace.set(`${one.partition} ${one.offset}`, one)
        return new Set(texts()).size === sent.length
      })
      if (driver.hasSentAgain(topic)) expect(new Set(texts())).to.deep.equal(new Set(sent))
      else expect(texts()).to.deep.equal(sent.sort())
      const read = [...byPlace.values()].sort((a, b) => a.offset - b.offset)
      for (const partition of [0, 1, 2, 3]) {
        const offsets = read.filter((r) => r.partition === partition).map(({ offset }) => offset)
        expect(offsets).to.deep.equal(offsets.map((_, i) => i))
      }
    })

    it('starts a returning group where it committed, and gives what it had not committed again', async () => {
      const log = await open(await driver.makeTopic(1))
      await log.append(['a', 'b', 'c', 'd'].map((text) => record(0, text)))
      const first = await join(log)
      const read = await drain(first, 4)
      await first.commit([{ partition: 0, offset: (read[1]?.offset ?? 0) + 1 }])
      await leave(first)
      const again = await drain(await join(log), 2)
      expect(again.map(({ value }) => value.toString())).to.deep.equal(['c', 'd'])
    })

    it('takes nothing with a poll that fails: the next one goes on after the last record that was handed back', async () => {
      const topic = await driver.makeTopic(2)
      const log = await open(topic)
      const consumer = await join(log)
      await log.append([record(0, 'a'), record(1, 'x')])
      await drain(consumer, 2)
      const mend = await driver.breakReads(topic)
      await log.append([record(0, 'b'), record(1, 'y')])
      for (let n = 0; n < 3; n++) expect(await isRejected(consumer.poll(POLL)), `poll ${n}`).to.equal(true)
      await mend()
      await log.append([record(0, 'c')])
      const read = await drain(consumer, 3)
      expect([textsOf(read, 0), textsOf(read, 1)]).to.deep.equal([['b', 'c'], ['y']])
    })

    it('does not move a group back when an old position is committed', async () => {
      const log = await open(await driver.makeTopic(1))
      await log.append(['a', 'b', 'c'].map((text) => record(0, text)))
      const consumer = await join(log)
      await drain(consumer, 3)
      await consumer.commit([{ partition: 0, offset: 3 }])
      await consumer.commit([{ partition: 0, offset: 1 }])
      expect((await log.lag(GROUP))[0]).to.include({ committed: 3, end: 3 })
    })

    it('sets a group back, which then gets records again', async () => {
      const log = await open(await driver.makeTopic(2))
      await log.append([record(0, 'a'), record(0, 'b'), record(1, 'x')])
      const first = await join(log)
      await drain(first, 3)
      await first.commit([0, 1].map((partition) => ({ partition, offset: 2 - partition })))
      await leave(first)
      await log.moveTo(GROUP, [{ partition: 0, offset: 1 }])
      expect((await log.lag(GROUP)).map(({ committed }) => committed)).to.deep.equal([1, 1])
      const again = await drain(await join(log), 1)
      expect(again.map(({ value }) => value.toString())).to.deep.equal(['b'])
    })

    it('gives each group every record', async () => {
      const log = await open(await driver.makeTopic(1))
      await log.append([record(0, 'a')])
      const [one, two] = [await join(log, 'one'), await join(log, 'two')]
      expect(await drain(one, 1)).to.have.length(1)
      expect(await drain(two, 1)).to.have.length(1)
    })

    it('shares partitions out among members, and gives those of one that left to the rest', async () => {
      const topic = await driver.makeTopic(4)
      const [logA, logB] = [await open(topic), await open(topic)]
      const [a, b] = [await join(logA), await join(logB)]
      const seen = { a: new Set<number>(), b: new Set<number>() }
      const take = async (name: 'a' | 'b', consumer: LogConsumer) => {
        const records = await consumer.poll(POLL)
        for (const { partition } of records) seen[name].add(partition)
        await consumer.commit(records.map(({ partition, offset }) => ({ partition, offset: offset + 1 })))
      }
      // until both have a share
      await until(async () => {
        seen.a.clear()
        seen.b.clear()
        await logA.append([0, 1, 2, 3].map((partition) => record(partition, 'x')))
        await Promise.all([take('a', a), take('b', b)])
        return seen.a.size === 2 && seen.b.size === 2
      })
      expect(new Set([...seen.a, ...seen.b])).to.deep.equal(new Set([0, 1, 2, 3]))
      await leave(a)
      await until(async () => {
        seen.b.clear()
        await logB.append([0, 1, 2, 3].map((partition) => record(partition, 'y')))
        await take('b', b)
        return seen.b.size === 4
      })
    })

    it('gives every record to the group at least once while members come and go', async () => {
      const topic = await driver.makeTopic(4)
      const log = await open(topic)
      const counted = new Set<string>()
      const sent: string[] = []
      let running = true
      const consume = async (consumer: LogConsumer, rounds: number) => {
        for (let i = 0; running && i < rounds; i++) {
          const records = await consumer.poll({ ...POLL, waitMs: 20 })
          for (const { value } of records) counted.add(value.toString())
          await consumer.commit(records.map(({ partition, offset }) => ({ partition, offset: offset + 1 })))
        }
      }
      const steady = consume(await join(log), Infinity)
      const passing = (async () => {
        for (let n = 0; n < 5; n++) {
          const guest = await join(await open(topic))
          await consume(guest, 10)
          await leave(guest)
        }
      })()
      for (let n = 0; n < 100; n++) {
        sent.push(`r${n}`)
        await log.append([record(n % 4, `r${n}`)])
        await sleep(10)
      }
      await passing
      await until(() => Promise.resolve(counted.size === sent.length))
      running = false
      await steady
      expect([...counted].sort()).to.deep.equal(sent.sort())
    })

    it('says how far a group is behind, and the lowest acceptance it has not committed', async () => {
      const log = await open(await driver.makeTopic(2))
      const consumer = await join(log)
      expect(await log.lowestUnread(GROUP)).to.equal(undefined)
      await log.append([record(0, 'a', 3_000_000), record(0, 'b', 1_000_000), record(1, 'c', 2_000_000)])
      expect(await log.lag(GROUP)).to.deep.equal([
        { partition: 0, committed: 0, end: 2 },
        { partition: 1, committed: 0, end: 1 },
      ])
      expect(await log.lowestUnread(GROUP)).to.equal(1_000_000)
      await drain(consumer, 3)
      await consumer.commit([{ partition: 0, offset: 2 }])
      expect(await log.lowestUnread(GROUP)).to.equal(2_000_000)
      await consumer.commit([{ partition: 1, offset: 1 }])
      expect(await log.lowestUnread(GROUP)).to.equal(undefined)
    })

    it('can be read again outside of any group, from the time of appending on', async () => {
      const log = await open(await driver.makeTopic(2))
      await log.append([record(0, 'early'), record(1, 'early')])
      await sleep(50)
      const between = Date.now() * 1_000
      await sleep(50)
      await log.append([record(0, 'late')])
      const positions = await log.positionsAt(between)
      expect(positions.sort((a, b) => a.partition - b.partition)).to.deep.equal([
        { partition: 0, offset: 1 },
        { partition: 1, offset: 1 },
      ])
      expect(textsOf(await log.read({ partition: 0, offset: 1 }, 1_000_000), 0)).to.deep.equal(['late'])
      expect(textsOf(await log.read({ partition: 0, offset: 0 }, 1_000_000), 0)).to.deep.equal([
        'early',
        'late',
      ])
      expect(await log.read({ partition: 1, offset: 1 }, 1_000_000)).to.deep.equal([])
    })

    it('takes few bytes at a time, but always at least one record', async () => {
      const log = await open(await driver.makeTopic(1))
      await log.append([0, 1, 2, 3].map(() => ({ ...record(0, ''), value: randomBytes(1_000) })))
      const consumer = await join(log)
      const first = await until(async () => {
        const records = await consumer.poll({ bytesMax: 10, waitMs: 50 })
        return records.length > 0 && records
      })
      expect(first).to.have.length(1)
      expect(await drain(consumer, 3)).to.have.length(3)
    })

    it('counts bytes as they were appended, however well they compress, and lets no partition wait for ever', async () => {
      const log = await open(await driver.makeTopic(4))
      const value = Buffer.alloc(400_000, 'a')
      for (let n = 0; n < 10; n++)
        await log.append([0, 1, 2, 3].map((partition) => ({ partition, acceptedAt: 1, value })))
      const bytesOf = (records: readonly LogRecord[]) => records.reduce((sum, r) => sum + r.value.length, 0)
      const bytesMax = 1_000_000
      expect(bytesOf(await log.read({ partition: 0, offset: 0 }, bytesMax))).to.be.within(
        bytesMax,
        bytesMax + RECORD_BYTES_MAX,
      )
      const consumer = await join(log)
      const polls: number[] = []
      const counts = [0, 0, 0, 0]
      await until(async () => {
        const records = await consumer.poll({ bytesMax, waitMs: 50 })
        polls.push(bytesOf(records))
        for (const { partition } of records) counts[partition] = (counts[partition] ?? 0) + 1
        if (polls.length === 3) expect(Math.max(...counts) - Math.min(...counts)).to.be.lessThan(5)
        return counts.every((count) => count === 10)
      }).catch((err: unknown) => {
        throw new Error(`each partition has 10 records, and ${counts.join(', ')} came`, { cause: err })
      })
      expect(Math.max(...polls)).to.be.lessThan(bytesMax + RECORD_BYTES_MAX)
    })

    it('waits for records, and wakes when some come', async () => {
      const log = await open(await driver.makeTopic(1))
      const consumer = await join(log)
      await until(async () => {
        await log.append([record(0, 'warm')])
        return (await consumer.poll(POLL)).length > 0
      })
      const startedAt = performance.now()
      expect(await consumer.poll({ bytesMax: 1_000, waitMs: 100 })).to.deep.equal([])
      expect(performance.now() - startedAt).to.be.greaterThan(80)
      const polled = consumer.poll({ bytesMax: 1_000, waitMs: 10_000 })
      const appendedAt = performance.now()
      await log.append([record(0, 'new')])
      expect(textsOf(await polled, 0)).to.deep.equal(['new'])
      expect(performance.now() - appendedAt).to.be.lessThan(1_000)
    })

    it('keeps every law above on random histories of appends and reads', async () => {
      const step = fc.record({
        partition: fc.nat({ max: 2 }),
        sizes: fc.array(fc.constantFrom(0, 1, 300, 20_000), { minLength: 1, maxLength: 5 }),
        readBytes: fc.constantFrom(1, 500, 50_000),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
          const log = await open(await driver.makeTopic(3))
          const consumer = await join(log)
          const sent: string[][] = [[], [], []]
          const got: string[][] = [[], [], []]
          const take = (records: readonly LogRecord[]) => {
            for (const { partition, value } of records) got[partition]?.push(value.toString('hex'))
          }
          for (const { partition, sizes, readBytes } of steps) {
            const records = sizes.map((size) => ({ partition, acceptedAt: 1, value: randomBytes(size) }))
            sent[partition]?.push(...records.map(({ value }) => value.toString('hex')))
            await log.append(records)
            take(await consumer.poll({ bytesMax: readBytes, waitMs: 0 }))
          }
          await until(async () => {
            take(await consumer.poll({ ...POLL, waitMs: 20 }))
            return got.flat().length >= sent.flat().length
          })
          expect(got).to.deep.equal(sent)
        }),
        { numRuns: 10 },
      )
    })
  })
}

const textsOf = (records: readonly LogRecord[], partition: number): string[] =>
  records.filter((record) => record.partition === partition).map(({ value }) => value.toString())

const isRejected = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  )

async function drain(consumer: LogConsumer, count: number): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  await until(async () => {
    records.push(...(await consumer.poll(POLL)))
    return records.length >= count
  })
  return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
}
