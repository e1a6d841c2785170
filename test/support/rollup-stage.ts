import { expect } from 'chai'
import { type ClickHouse, queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { SLOTS_KEPT_FOR_DAYS } from '../../shared/clickhouse/rollups/build-epoch.ts'
import { IS_MARK, STANDS } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { dayOf, oldestSlotTotalsDay } from '../../shared/clickhouse/rollups/usage-cover.ts'
import { usageAggregateRepository } from '../../shared/clickhouse/usage/usage-aggregates.ts'
import { usageThroughRollups } from '../../shared/clickhouse/usage/usage-through-rollups.ts'
import { monthOf } from '../../shared/domain/month.ts'
import { DAY_S } from '../../shared/domain/time-range.ts'
import { connectAgain, createClickHouse } from './clickhouse.ts'

/** Longer than a process caches the epoch. */
export const EPOCH_CACHED_MS = 1_100

export type RollupStage = Awaited<ReturnType<typeof startRollupStage>>

const EPOCH_0 = 'INSERT INTO rollup_epochs (epoch, slot_s, state) VALUES (0, {slotS:UInt32}, 2)'

/**
 * Makes a database with rollups of short slots, and separate connections for writers, the rollup service and readers.
 *
 * @param purpose names the database: letters, digits and underscores
 * @param slotS the length of a slot in seconds, a divisor of 300
 */
export async function startRollupStage(purpose: string, slotS: number) {
  const forReaders = await createClickHouse(purpose)
  const [forWriters, forServices] = [await connectAgain(forReaders), await connectAgain(forReaders)]
  const client = forReaders.client
  await setSlotLength(client, slotS)
  return {
    slotS,
    client,
    writing: forWriters.client,
    computing: forServices.client,
    epochs: rollupEpochRepository(client),
    rolled: usageThroughRollups(client),
    raw: usageAggregateRepository(client),
    async close() {
      for (const opened of [forWriters, forServices, forReaders]) await opened.close()
    },
  }
}

/** Sets the length of a slot, before any rollup exists. */
export async function setSlotLength(client: ClickHouse, slotS: number): Promise<void> {
  await client.command({ query: 'TRUNCATE TABLE rollup_epochs' })
  await client.command({ query: EPOCH_0, query_params: { slotS } })
}

/** Counts the marks that are not cancelled. */
export async function countMarks(client: ClickHouse): Promise<number> {
  const [row] = await queryRows<{ marks: number }>(
    client,
    `SELECT toUInt32(count()) AS marks FROM (SELECT 1 FROM usage_dirty_slots WHERE ${IS_MARK} ${STANDS})`,
    {},
  )
  return row?.marks ?? 0
}

const VALUES = `toString(sum) AS sum, toString(min) AS min, toString(max) AS max, toString(latest) AS latest`
const OF_EVENTS = `
  toString(countIf(voided = 0)) AS count, toString(sumIf(toDecimal256(quantity, 18), voided = 0)) AS sum,
  toString(minIf(quantity, voided = 0)) AS min, toString(maxIf(quantity, voided = 0)) AS max,
  toString(argMaxIf(quantity, (occurred_at, accepted_at, id), voided = 0)) AS latest,
  toString(sum(toUInt128(version))) AS version`

interface Rolled {
  /** ClickHouse returns a wide number as text. */
  at: number | string
  account_id: string
  source: string
  count: string
  sum: string
  min: string
  max: string
  latest: string
  version: string
}

/**
 * Checks that every closed slot, day, month and total equals the result from the events, to the last digit, and that no
 * row is missing or extra. There must be no marks.
 *
 * @returns the number of compared rows of each table
 */
export async function expectRollupsExact(
  client: ClickHouse,
  namespaceId: string,
): Promise<{
  slots: number
  byTime: number
  slotTotals: number
  days: number
  months: number
  totals: number
}> {
  const epochs = rollupEpochRepository(client)
  const current = (await epochs.list()).findLast(({ state }) => state === 'in use')
  if (current === undefined) throw new Error('there are no rollups')
  const { epoch, slotS, closedThrough } = current
  const now = await epochs.now()
  const slotsFrom = dayOf(now) - (SLOTS_KEPT_FOR_DAYS - 1) * DAY_S
  const totalsFrom = oldestSlotTotalsDay(now)

  const compare = async (table: string, column: string, startOf: string, from: number, to: number) => {
    const account = table.endsWith('_total') ? "''" : 'account_id'
    const at = `toUnixTimestamp(toDateTime(${column}, 'UTC'))`
    const order = 'ORDER BY at, account_id, source'
    const params = { namespaceId, epoch, from, to }
    const held = await queryRows<Rolled>(
      client,
      `SELECT ${at} AS at, ${account} AS account_id, source, toString(count) AS count, ${VALUES}, toString(version) AS version
        FROM ${table} FINAL WHERE namespace_id = {namespaceId:String} AND epoch = {epoch:UInt32}
          AND at >= {from:UInt32} AND at < {to:UInt32} ${order}`,
      params,
    )
    const meant = await queryRows<Rolled>(
      client,
      `SELECT toUnixTimestamp(toDateTime(${startOf}, 'UTC')) AS at, ${account} AS account_id, source, ${OF_EVENTS}
        FROM usage_events FINAL
        WHERE namespace_id = {namespaceId:String} AND toUnixTimestamp(occurred_at) >= {from:UInt32}
          AND toUnixTimestamp(occurred_at) < {to:UInt32}
        GROUP BY at, account_id, source ${order}`,
      params,
    )
    const shown = (rows: readonly Rolled[]) =>
      rows.map(({ at: start, ...row }) => ({ at: Number(start), ...row }))
    expect(shown(held), table).to.deep.equal(shown(meant))
    return held.length
  }
  const endDay = dayOf(closedThrough)
  const slot = `intDiv(toUnixTimestamp(occurred_at), ${slotS}) * ${slotS}`
  const day = 'toDate(occurred_at)'
  return {
    slots: await compare('usage_by_slot', 'slot', slot, slotsFrom, closedThrough),
    byTime: await compare('usage_by_slot_by_time', 'slot', slot, totalsFrom, closedThrough),
    slotTotals: await compare('usage_by_slot_total', 'slot', slot, totalsFrom, closedThrough),
    days: await compare('usage_by_day', 'day', day, 0, endDay),
    months: await compare(
      'usage_by_month',
      'month',
      'toStartOfMonth(occurred_at)',
      0,
      monthOf(closedThrough),
    ),
    totals: await compare('usage_by_day_total', 'day', day, 0, endDay),
  }
}
