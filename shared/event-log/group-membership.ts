import { randomUUID } from 'node:crypto'
import { StartupError } from '../errors/startup-error.ts'
import type { Logger } from '../logging/logger.ts'
import type { Pool, Queryable } from '../postgres/core/pool.ts'
import { withTransaction } from '../postgres/core/transaction.ts'
import type { Position } from './event-log.ts'

export interface GroupMembershipOptions {
  pool: Pool
  /** The topic's name in PostgreSQL. */
  topic: string
  group: string
  log: Logger
  /** How long a member keeps its partitions without a renewal. */
  leaseMs: number
  /** Lists the current partitions of the topic. */
  listPartitions: () => Promise<number[]>
  /** Inserts the rows of `event_log_offsets` that the group does not have yet. */
  ensureOffsets: (db: Queryable) => Promise<void>
  /**
   * Returns the positions at which the group continues in newly taken partitions. They are the offsets of
   * `event_log_offsets`, unless the log stores offsets itself.
   */
  findStarts: (taken: readonly Position[]) => Promise<readonly Position[]>
}

/** A partition that is assigned to a member, and the member's position in it. */
export interface AssignedPartition {
  /** The next offset to return. */
  next: number
  /** The next offset that the group would read without this member. */
  committed: number
  /**
   * True when the partition must pass to another member. This member gives it back as soon as all records that it got
   * from the partition are committed.
   */
  leaving: boolean
}

const RENEWALS_PER_LEASE = 5

const JOIN = `
  INSERT INTO event_log_members (consumer_group, topic, member_id, leased_until)
  VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')
  ON CONFLICT (consumer_group, topic, member_id) DO UPDATE SET leased_until = EXCLUDED.leased_until`
const FORGET_SILENT = `
  DELETE FROM event_log_members WHERE consumer_group = $1 AND topic = $2 AND leased_until < clock_timestamp()`
const LIST_MEMBERS = `
  SELECT member_id FROM event_log_members WHERE consumer_group = $1 AND topic = $2 ORDER BY member_id`
const TAKE = `
  UPDATE event_log_offsets SET owner = $3, leased_until = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE consumer_group = $1 AND topic = $2 AND partition = ANY ($5)
    AND (owner IS NULL OR owner = $3 OR leased_until < clock_timestamp())
  RETURNING partition, next_offset`
const GIVE_BACK = `
  UPDATE event_log_offsets SET owner = NULL
  WHERE consumer_group = $1 AND topic = $2 AND owner = $3 AND partition = ANY ($4)`
const TAKE_ALL = `
  UPDATE event_log_offsets SET owner = $3, leased_until = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE consumer_group = $1 AND topic = $2 AND (owner IS NULL OR leased_until < clock_timestamp())`
const COUNT_PARTITIONS = `
  SELECT count(*)::integer AS partitions FROM event_log_offsets WHERE consumer_group = $1 AND topic = $2`
const GIVE_ALL_BACK = `
  UPDATE event_log_offsets SET owner = NULL WHERE consumer_group = $1 AND topic = $2 AND owner = $3`
const LEAVE = 'DELETE FROM event_log_members WHERE consumer_group = $1 AND topic = $2 AND member_id = $3'

/** Ends the memberships of dead processes. The caller must know that no other process uses the topic. */
export async function endMemberships(pool: Pool, topic: string): Promise<void> {
  await pool.query('DELETE FROM event_log_members WHERE topic = $1', [topic])
  await pool.query('UPDATE event_log_offsets SET owner = NULL WHERE topic = $1 AND owner IS NOT NULL', [
    topic,
  ])
}

/** How long withoutMembers keeps members away. If the work takes longer, a member may begin, which is an error. */
const WITHOUT_MEMBERS_MS = 60_000

/**
 * Runs work while a group has no members: it holds the leases of all partitions itself.
 *
 * @throws StartupError when a member holds the lease of a partition, or got it before the work was done
 */
export async function withoutMembers<T>(
  pool: Pool,
  topic: string,
  group: string,
  work: () => Promise<T>,
): Promise<T> {
  const holder = randomUUID()
  const giveBack = async () => (await pool.query(GIVE_ALL_BACK, [group, topic, holder])).rowCount
  const requireAll = async (held: number | null) => {
    const { rows } = await pool.query<{ partitions: number }>(COUNT_PARTITIONS, [group, topic])
    if (held === rows[0]?.partitions) return
    throw new StartupError(`a ${group} still reads the event log: end every ${group}, and try again`)
  }
  let result: T
  try {
    await requireAll((await pool.query(TAKE_ALL, [group, topic, holder, WITHOUT_MEMBERS_MS])).rowCount)
    result = await work()
  } catch (err) {
    await giveBack()
    throw err
  }
  await requireAll(await giveBack())
  return result
}

/**
 * Divides the partitions of a topic among the members of a consumer group: in the members' order, with leases by
 * PostgreSQL's clock. A lease is only an optimisation. Two members that read a partition at the same time cause
 * duplicates, and never a loss. Duplicates change nothing, because rows of one usage event collapse.
 */
export class GroupMembership {
  /** The partitions of this member, in the order in which they are read. */
  readonly assigned = new Map<number, AssignedPartition>()
  private readonly options: GroupMembershipOptions
  private readonly memberId = randomUUID()
  private renewal: NodeJS.Timeout | undefined
  private renewing: Promise<void> = Promise.resolve()
  private isFailing = false
  private closed = false

  constructor(options: GroupMembershipOptions) {
    this.options = options
  }

  async start(): Promise<void> {
    await this.renew()
    this.scheduleRenewal()
  }

  /** Records the offsets that the group has committed. */
  noteCommitted(positions: readonly Position[]): void {
    for (const { partition, offset } of positions) {
      const assigned = this.assigned.get(partition)
      if (assigned !== undefined) assigned.committed = Math.max(assigned.committed, offset)
    }
  }

  async close(): Promise<void> {
    this.closed = true
    clearTimeout(this.renewal)
    await this.renewing
    const { pool, group, topic } = this.options
    await pool.query(GIVE_BACK, [group, topic, this.memberId, [...this.assigned.keys()]])
    await pool.query(LEAVE, [group, topic, this.memberId])
    this.assigned.clear()
  }

  private scheduleRenewal(): void {
    const { leaseMs, log } = this.options
    this.renewal = setTimeout(() => {
      this.renewing = this.renew()
        .then(
          () => {
            if (this.isFailing) log.info('the leases on the event log are renewed again')
            this.isFailing = false
          },
          (err: unknown) => {
            log[this.isFailing ? 'debug' : 'warn']({ err }, 'could not renew the leases on the event log')
            this.isFailing = true
          },
        )
        .finally(() => {
          if (!this.closed) this.scheduleRenewal()
        })
    }, leaseMs / RENEWALS_PER_LEASE)
  }

  private async renew(): Promise<void> {
    const { pool, group, topic, leaseMs } = this.options
    const givenBack = [...this.assigned].filter(
      ([, assigned]) => assigned.leaving && assigned.committed >= assigned.next,
    )
    await withTransaction(pool, async (db) => {
      await db.query(JOIN, [group, topic, this.memberId, leaseMs])
      await this.options.ensureOffsets(db)
      await db.query(GIVE_BACK, [group, topic, this.memberId, givenBack.map(([partition]) => partition)])
      await db.query(FORGET_SILENT, [group, topic])
    })
    for (const [partition] of givenBack) this.assigned.delete(partition)
    const due = await this.findDue()
    const wanted = [...new Set([...due, ...this.assigned.keys()])]
    const { rows } = await pool.query<{ partition: number; next_offset: string }>(TAKE, [
      group,
      topic,
      this.memberId,
      leaseMs,
      wanted,
    ])
    const owned = new Set(rows.map(({ partition }) => partition))
    // Another member has taken the partitions that are not among the rows.
    for (const partition of this.assigned.keys()) if (!owned.has(partition)) this.assigned.delete(partition)
    const taken = rows
      .filter(({ partition }) => !this.assigned.has(partition))
      .map((row) => ({ partition: row.partition, offset: Number(row.next_offset) }))
    // The starts are read only now, because the previous owner may commit until the partition is taken.
    const starts = taken.length === 0 ? [] : await this.options.findStarts(taken)
    for (const { partition, offset } of starts)
      this.assigned.set(partition, { next: offset, committed: offset, leaving: false })
    for (const [partition, assigned] of this.assigned) assigned.leaving = !due.has(partition)
  }

  /** This member's partitions. All partitions are assigned in turn to the members whose leases are valid. */
  private async findDue(): Promise<Set<number>> {
    const { pool, group, topic } = this.options
    const { rows } = await pool.query<{ member_id: string }>(LIST_MEMBERS, [group, topic])
    const place = rows.findIndex(({ member_id }) => member_id === this.memberId)
    const partitions = await this.options.listPartitions()
    return new Set(partitions.filter((partition) => place >= 0 && partition % rows.length === place))
  }
}
