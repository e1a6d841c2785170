import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { ROLLUP_TABLES } from './rollup-table-names.ts'

type EpochState = 'being built' | 'in use' | 'given up'

/** How far the rollups of an epoch reach. */
export interface RollupEpoch {
  epoch: number
  /** The length of its slots, in seconds. */
  slotS: number
  /** Slots before this are in the rollups, or are being computed. */
  closingThrough: number
  /** Slots before this are in the rollups. */
  closedThrough: number
  state: EpochState
  /** Unix seconds, by the clock of ClickHouse. */
  changedAt: number
}

/** The times by which the loader decides which usage is late. */
export interface SlotClock {
  /** Unix seconds, by the clock of ClickHouse. */
  now: number
  /** The length of a slot, in seconds. */
  slotS: number
  /**
   * Unix seconds. In some epoch, a process has begun to close all slots before this. It may be later than now, if the
   * clock was set back.
   */
  closing: number
}

const STATES: readonly EpochState[] = ['being built', 'in use', 'given up']
/** The column's value for an epoch that readers may use. */
export const IN_USE = STATES.indexOf('in use')

const LIST = `
  SELECT epoch, toUInt32(max(slot_s)) AS slot_s, toUnixTimestamp(max(closing_through)) AS closing_through,
    toUnixTimestamp(max(closed_through)) AS closed_through, max(state) AS state, toUnixTimestamp(max(changed_at)) AS changed_at
  FROM rollup_epochs GROUP BY epoch ORDER BY epoch`

const CLOCK = `
  SELECT toUnixTimestamp(now()) AS now, toUInt32(max(slot_s)) AS slot_s, toUnixTimestamp(max(closing_through)) AS closing
  FROM rollup_epochs`

/** The numbers of all epochs. Each is the first column of the sorting key, and is found without reading all rows. */
const NAMED = ['rollup_epochs', ...ROLLUP_TABLES]
  .map((table) => `SELECT DISTINCT epoch FROM ${table} WHERE epoch > 0`)
  .join(' UNION DISTINCT ')

interface EpochRow {
  epoch: number
  slot_s: number
  closing_through: number
  closed_through: number
  state: number
  changed_at: number
}

/** The listed epoch that readers use; undefined before the first is built. */
export const inUse = (listed: readonly RollupEpoch[]): RollupEpoch | undefined =>
  listed.findLast(({ state }) => state === 'in use')

const NOTHING: Omit<EpochRow, 'epoch'> = {
  slot_s: 0,
  closing_through: 0,
  closed_through: 0,
  state: 0,
  changed_at: 0,
}
const KEYS = Object.keys(NOTHING) as [string, ...string[]]

/**
 * Stores and reads epochs. No field ever decreases, so its greatest value counts, in whatever order the values were
 * written.
 */
export const rollupEpochRepository = (client: ClickHouse) => {
  const write = async (values: Partial<EpochRow> & { epoch: number }): Promise<void> => {
    await client.insert({
      table: 'rollup_epochs',
      values: [{ ...NOTHING, ...values }],
      columns: ['epoch', ...KEYS],
      format: 'JSONEachRow',
    })
  }
  return {
    /** Lists epochs in the order of their numbers. */
    async list(): Promise<RollupEpoch[]> {
      const rows = await queryRows<EpochRow>(client, LIST, {})
      return rows.map((row) => ({
        epoch: row.epoch,
        slotS: row.slot_s,
        closingThrough: row.closing_through,
        closedThrough: row.closed_through,
        state: STATES[row.state] ?? 'given up',
        changedAt: row.changed_at,
      }))
    },

    /** From now on, when slots before `closingThrough` are recomputed, they are recomputed in this epoch too. */
    async begin(epoch: number, slotS: number, closingThrough: number, now: number): Promise<void> {
      await write({ epoch, slot_s: slotS, closing_through: closingThrough, changed_at: now })
    },

    /** Called before the slots before `through` are computed. */
    async closing(epoch: number, through: number): Promise<void> {
      await write({ epoch, closing_through: through })
    },

    /** Called after the slots, their totals, and the days, totals and months that end with them are stored. */
    async closed(epoch: number, through: number): Promise<void> {
      await write({ epoch, closed_through: through })
    },

    /** From now on readers use this epoch. */
    async use(epoch: number, closedThrough: number, now: number): Promise<void> {
      await write({
        epoch,
        closed_through: closedThrough,
        state: IN_USE,
        changed_at: now,
      })
    },

    /** From now on nothing is computed for this epoch any more. */
    async giveUp(epoch: number, now: number): Promise<void> {
      await write({ epoch, state: STATES.indexOf('given up'), changed_at: now })
    },

    /**
     * Gives up the epochs that are being built: from now on nothing is computed for them any more. The caller holds
     * the lock of builds.
     */
    async giveUpUnfinished(): Promise<void> {
      const [listed, now] = [await this.list(), await this.now()]
      for (const { epoch, state } of listed) if (state === 'being built') await this.giveUp(epoch, now)
    },

    /** Reads the times that decide which usage is late. @throws Error when there is no epoch yet */
    async readClock(): Promise<SlotClock> {
      const [row] = await queryRows<{ now: number; slot_s: number; closing: number }>(client, CLOCK, {})
      if (row === undefined || row.slot_s === 0) throw new Error('ClickHouse is not migrated: no time slots')
      return { now: row.now, slotS: row.slot_s, closing: row.closing }
    },

    /** The time by the clock of ClickHouse, in Unix seconds. */
    async now(): Promise<number> {
      const [row] = await queryRows<{ now: number }>(client, 'SELECT toUnixTimestamp(now()) AS now', {})
      if (row === undefined) throw new Error('ClickHouse returned no time')
      return row.now
    },
  }
}

/**
 * Gives up every epoch, also those that only rows of rollups name: the tables of a backup are of different moments.
 * From now on readers use the events, until another epoch is built.
 */
export async function giveUpAllEpochs(client: ClickHouse): Promise<void> {
  const epochs = rollupEpochRepository(client)
  const rows = await queryRows<{ epoch: number }>(client, NAMED, {})
  const now = await epochs.now()
  for (const { epoch } of rows) await epochs.giveUp(epoch, now)
}
