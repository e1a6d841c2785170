import { setTimeout as sleep } from 'node:timers/promises'
import { DomainError } from '../../errors/domain-error.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Pool } from '../../postgres/core/pool.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
import type { NewRecord } from '../event-log.ts'
import { type EncodedValue, encodeValue } from './value-encoding.ts'

export interface GroupAppenderOptions {
  pool: Pool
  topic: string
  log: Logger
  /** The longest time until a caller gets an answer. */
  deadlineMs: number
  /** The maximum number of callers that may wait. Further appends are refused at once. */
  waitingMax: number
  /** The maximum number of bytes that may wait. */
  waitingBytesMax: number
  /** Called after records became durable. */
  onAppended: () => void
}

/** A record in its stored form. The original value is not kept in memory. */
interface EncodedRecord extends EncodedValue {
  partition: number
  acceptedAt: Micros
}

interface Waiting {
  records: readonly EncodedRecord[]
  bytes: number
  settle: (err?: unknown) => void
}

/** The maximum number of bytes that one statement appends. */
const GROUP_BYTES_MAX = 8_000_000
const GROUP_CALLERS_MAX = 2_000
/**
 * The maximum number of groups under way at the same time. Why two: while one group waits for the disk, the next is
 * sent to the database. More groups would only wait for each other's partitions.
 */
const GROUPS_AT_ONCE = 2

const APPEND = 'SELECT event_log_append($1, $2, $3, $4, $5, $6, $7)'

/**
 * Lets appends that arrive together share one commit. There is no timer: a lone append is sent at once, and appends
 * that arrive while two groups are under way form the next group.
 */
export class GroupAppender {
  private readonly options: GroupAppenderOptions
  private readonly waiting: Waiting[] = []
  /** The number of callers that wait, or whose records are being encoded. */
  private places = 0
  private bytes = 0
  private underWay = 0
  private idle: (() => void)[] = []

  constructor(options: GroupAppenderOptions) {
    this.options = options
  }

  /** @throws DomainError overloaded when nothing was sent, unavailable when the records may or may not be in the log */
  append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return Promise.resolve()
    const { waitingMax, waitingBytesMax, deadlineMs } = this.options
    if (this.places >= waitingMax || this.bytes >= waitingBytesMax)
      return Promise.reject(new DomainError('overloaded', 'the event log is overloaded, try again'))
    const deadline = performance.now() + deadlineMs
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0)
    // The caller is counted before its records are encoded. Encoding takes some time, so otherwise no caller of a burst
    // would be refused.
    this.places++
    this.bytes += bytes
    // Why there is no `await`: a suspended function would keep the original values in memory.
    return Promise.all(records.map(encodeRecord)).then(
      (encoded) => this.enqueue(encoded, bytes, deadline),
      (err: unknown) => {
        this.leave(bytes)
        throw err
      },
    )
  }

  /** Waits until everything under way is written or has failed. */
  async drain(): Promise<void> {
    while (this.underWay > 0 || this.places > 0)
      await new Promise<void>((resolve) => {
        this.idle.push(resolve)
      })
  }

  /** @param bytesBefore the size of the records before they were encoded */
  private enqueue(records: readonly EncodedRecord[], bytesBefore: number, deadline: number): Promise<void> {
    const bytes = records.reduce((sum, record) => sum + record.bytes.length, 0)
    this.bytes += bytes - bytesBefore
    return new Promise<void>((resolve, reject) => {
      const onTimeout = () => {
        const at = this.waiting.indexOf(entry)
        if (at >= 0) {
          this.waiting.splice(at, 1) // it was not sent yet, and now never will be
          this.leave(bytes)
        }
        const code = at >= 0 ? 'overloaded' : 'unavailable'
        reject(new DomainError(code, 'the event log did not confirm in time, try again'))
      }
      const timer = setTimeout(onTimeout, deadline - performance.now())
      const entry: Waiting = {
        records,
        bytes,
        settle: (err) => {
          clearTimeout(timer)
          if (err === undefined) resolve()
          else
            reject(
              new DomainError('unavailable', 'the event log cannot be reached, try again', { cause: err }),
            )
        },
      }
      this.waiting.push(entry)
      this.pump()
    })
  }

  /** Ends the count of a caller and its bytes. */
  private leave(bytes: number): void {
    this.places--
    this.bytes -= bytes
    this.wakeIdle()
  }

  private pump(): void {
    while (this.underWay < GROUPS_AT_ONCE && this.waiting.length > 0) {
      this.underWay++
      void this.write(this.takeGroup()).finally(() => {
        this.underWay--
        this.pump()
        this.wakeIdle()
      })
    }
  }

  private wakeIdle(): void {
    if (this.underWay === 0 && this.places === 0) for (const resolve of this.idle.splice(0)) resolve()
  }

  private takeGroup(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { bytes: more } of this.waiting) {
      if (count === GROUP_CALLERS_MAX || (count > 0 && bytes + more > GROUP_BYTES_MAX)) break
      bytes += more
      count++
    }
    const group = this.waiting.splice(0, count)
    for (const entry of group) this.leave(entry.bytes)
    return group
  }

  private async write(group: readonly Waiting[]): Promise<void> {
    const { pool, topic, log, onAppended } = this.options
    const records = group.flatMap((entry) => entry.records)
    try {
      await pool.query({
        name: 'event-log-append',
        text: APPEND,
        values: [
          topic,
          records.map(({ partition }) => partition),
          records.map(({ acceptedAt }) => acceptedAt),
          records.map(({ encoding }) => encoding),
          records.map(({ bytes }) => bytes.length),
          records.map(({ decodedSize }) => decodedSize),
          Buffer.concat(records.map(({ bytes }) => bytes)),
        ],
      })
      onAppended()
      for (const entry of group) entry.settle()
    } catch (err) {
      log.error({ err, records: records.length }, 'could not append records to the event log')
      for (const entry of group) entry.settle(err)
      await sleep(20) // without a pause, this would spin while the database refuses connections
    }
  }
}

async function encodeRecord({ partition, acceptedAt, value }: NewRecord): Promise<EncodedRecord> {
  return { partition, acceptedAt, ...(await encodeValue(value)) }
}
