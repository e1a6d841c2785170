import { setTimeout as sleep } from 'node:timers/promises'
import { DomainError } from '../../errors/domain-error.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Pool } from '../../postgres/pool.ts'
import { encodeValue, type EncodedValue } from './value-encoding.ts'
import type { NewRecord } from '../event-log.ts'

export interface GroupAppenderOptions {
  pool: Pool
  topic: string
  log: Logger
  /** A caller hears after this long at the latest. */
  deadlineMs: number
  /** How many callers may wait; above it appends are refused at once. */
  waitingMax: number
  /** Called after records became durable. */
  onAppended: () => void
}

interface Waiting {
  records: readonly NewRecord[]
  values: readonly EncodedValue[]
  bytes: number
  settle: (err?: unknown) => void
}

/** What one statement carries at most. */
const GROUP_BYTES_MAX = 8_000_000
const GROUP_CALLERS_MAX = 2_000
/**
 * How many groups are under way at once. Why two: while one waits for the disk, the next is already on its way to the
 * database; more only wait for each other's partitions.
 */
const GROUPS_AT_ONCE = 2

const APPEND = 'SELECT event_log_append($1, $2, $3, $4, $5, $6, $7)'

/**
 * Lets appends that arrive together share one commit. No timer is involved: a lone append goes out at once, and what
 * arrives while a group is under way makes up the next one.
 */
export class GroupAppender {
  private readonly options: GroupAppenderOptions
  private readonly waiting: Waiting[] = []
  private underWay = 0
  private idle: (() => void)[] = []

  constructor(options: GroupAppenderOptions) {
    this.options = options
  }

  /** @throws DomainError overloaded when nothing was sent, unavailable when the records may or may not be in the log */
  async append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return
    const { waitingMax, deadlineMs } = this.options
    if (this.waiting.length >= waitingMax)
      throw new DomainError('overloaded', 'the event log is overloaded, try again')
    const values = await Promise.all(records.map(({ value }) => encodeValue(value)))
    const bytes = values.reduce((sum, value) => sum + value.bytes.length, 0)
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => {
        const at = this.waiting.indexOf(entry)
        if (at >= 0) this.waiting.splice(at, 1) // not sent yet, so it never will be
        const code = at >= 0 ? 'overloaded' : 'unavailable'
        reject(new DomainError(code, 'the event log did not confirm in time, try again'))
      }, deadlineMs)
      const entry: Waiting = {
        records,
        values,
        bytes,
        settle: (err) => {
          clearTimeout(late)
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

  /** Waits until everything under way is written or failed. */
  async drain(): Promise<void> {
    while (this.underWay > 0 || this.waiting.length > 0)
      await new Promise<void>((resolve) => {
        this.idle.push(resolve)
      })
  }

  private pump(): void {
    while (this.underWay < GROUPS_AT_ONCE && this.waiting.length > 0) {
      this.underWay++
      void this.write(this.takeGroup()).finally(() => {
        this.underWay--
        this.pump()
        if (this.underWay === 0 && this.waiting.length === 0)
          for (const resolve of this.idle.splice(0)) resolve()
      })
    }
  }

  private takeGroup(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { bytes: more } of this.waiting) {
      if (count === GROUP_CALLERS_MAX || (count > 0 && bytes + more > GROUP_BYTES_MAX)) break
      bytes += more
      count++
    }
    return this.waiting.splice(0, count)
  }

  private async write(group: readonly Waiting[]): Promise<void> {
    const { pool, topic, log, onAppended } = this.options
    const records = group.flatMap((entry) => entry.records)
    const values = group.flatMap((entry) => entry.values)
    try {
      await pool.query({
        name: 'event-log-append',
        text: APPEND,
        values: [
          topic,
          records.map(({ partition }) => partition),
          records.map(({ acceptedAt }) => acceptedAt),
          values.map(({ encoding }) => encoding),
          values.map(({ bytes }) => bytes.length),
          values.map(({ decodedSize }) => decodedSize),
          Buffer.concat(values.map(({ bytes }) => bytes)),
        ],
      })
      onAppended()
      for (const entry of group) entry.settle()
    } catch (err) {
      log.error({ err, records: records.length }, 'append failed')
      for (const entry of group) entry.settle(err)
      await sleep(20) // a database that is gone fails at once: do not spin
    }
  }
}
