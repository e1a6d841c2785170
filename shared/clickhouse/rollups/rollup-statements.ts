import { IS_OF_DAY, IS_OF_SLOT, MARKED } from './dirty-slots.ts'

const COLUMNS = 'count, sum, min, max, latest, latest_accepted_at, latest_id, version'

// Voided events are in no column but the version. The version of a rollup is the sum of its events' versions. So it
// grows when an event is voided, because voiding raises the version of the event.
const OF_EVENTS = `
  countIf(voided = 0), sumIf(toDecimal256(quantity, 18), voided = 0), minIf(quantity, voided = 0), maxIf(quantity, voided = 0),
  argMaxIf((quantity, accepted_at, id), (occurred_at, accepted_at, id), voided = 0) AS l, sum(toUInt128(version)) AS v`
const OF_ROLLUPS = `
  sum(r.count), sum(r.sum), minIf(r.min, r.count > 0), maxIf(r.max, r.count > 0),
  argMaxIf((r.latest, r.latest_accepted_at, r.latest_id),
    (substring(r.latest_id, 1, 4), r.latest_accepted_at, r.latest_id), r.count > 0) AS l, sum(r.version) AS v`
const SPREAD = 'EXCEPT (l, v), l.1, l.2, l.3, v'

const slotStart = (slotS: number) =>
  slotS === 300
    ? 'toStartOfFiveMinutes(occurred_at)'
    : `toDateTime(intDiv(toUnixTimestamp(occurred_at), ${Math.trunc(slotS)}) * ${Math.trunc(slotS)}, 'UTC')`

/** Events of a range, which need not begin at the edge of a key bucket. */
export const EVENTS_IN_RANGE = `
  toStartOfFiveMinutes(occurred_at) BETWEEN toDateTime({firstBucket:UInt32}, 'UTC') AND toDateTime({lastBucket:UInt32}, 'UTC')
  AND occurred_at >= toDateTime({from:UInt32}, 'UTC') AND occurred_at < toDateTime({to:UInt32}, 'UTC')`

const IN_SLOTS = `
  r.epoch = {epoch:UInt32} AND r.slot >= toDateTime({from:UInt32}, 'UTC') AND r.slot < toDateTime({to:UInt32}, 'UTC')`

const IN_DAYS = `
  r.epoch = {epoch:UInt32} AND r.day >= toDate(toDateTime({from:UInt32}, 'UTC'))
  AND r.day < toDate(toDateTime({to:UInt32}, 'UTC'))`

// Why PREWHERE, which FINAL does not choose by itself: the events are chosen by columns of their sorting key, so all
// rows of an event match or none does. The other columns are read and merged only for rows that match.
/** @param where selects events, by columns of their sorting key */
export const intoSlots = (slotS: number, where: string) => `
  INSERT INTO usage_by_slot (epoch, namespace_id, account_id, source, slot, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, ${slotStart(slotS)} AS slot, ${OF_EVENTS}
    FROM usage_events FINAL PREWHERE ${where} GROUP BY namespace_id, account_id, source, slot)`

/** @param where selects rollups of slots in the range */
export const intoDaysFromSlots = (where: string) => `
  INSERT INTO usage_by_day (epoch, namespace_id, account_id, source, day, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, toDate(slot) AS day, ${OF_ROLLUPS}
    FROM usage_by_slot AS r FINAL WHERE ${IN_SLOTS} AND ${where} GROUP BY namespace_id, account_id, source, day)`

/** @param where selects events in the range */
export const intoDaysFromEvents = (where: string) => `
  INSERT INTO usage_by_day (epoch, namespace_id, account_id, source, day, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, toDate(occurred_at) AS day, ${OF_EVENTS}
    FROM usage_events FINAL PREWHERE ${EVENTS_IN_RANGE} AND ${where} GROUP BY namespace_id, account_id, source, day)`

/** @param where selects rollups of days in the range */
export const intoMonths = (where: string) => `
  INSERT INTO usage_by_month (epoch, namespace_id, account_id, source, month, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, toStartOfMonth(day) AS month, ${OF_ROLLUPS}
    FROM usage_by_day AS r FINAL WHERE ${IN_DAYS} AND ${where} GROUP BY namespace_id, account_id, source, month)`

/** @param where selects rollups of days in the range */
export const intoTotals = (where: string) => `
  INSERT INTO usage_by_day_total (epoch, namespace_id, source, day, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, source, day, ${OF_ROLLUPS}
    FROM usage_by_day AS r FINAL WHERE ${IN_DAYS} AND ${where}
    GROUP BY namespace_id, source, day)`

/** @param where selects rollups of slots in the range */
export const intoSlotTotals = (where: string) => `
  INSERT INTO usage_by_slot_total (epoch, namespace_id, source, slot, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, source, slot, ${OF_ROLLUPS}
    FROM usage_by_slot_by_time AS r FINAL WHERE ${IN_SLOTS} AND ${where} GROUP BY namespace_id, source, slot)`

// The slots, days and accounts that are marked. A mark of a whole day covers all of its slots.
const MARKED_IN_RANGE = `${MARKED}
  WHERE slot >= toDateTime({from:UInt32}, 'UTC') AND slot < toDateTime({to:UInt32}, 'UTC')`
const FIVES_OF_DAY = 'ARRAY JOIN range(0, 86400, 300) AS within'
export const SLOTS_OF_ACCOUNTS = (slotS: number) => `
  (namespace_id, toStartOfFiveMinutes(occurred_at), account_id) IN (
    SELECT DISTINCT namespace_id, toStartOfFiveMinutes(slot), account_id FROM ${MARKED_IN_RANGE} AND account_id != '')
  AND (namespace_id, ${slotStart(slotS)}, account_id) IN (
    SELECT DISTINCT namespace_id, slot, account_id FROM ${MARKED_IN_RANGE} AND account_id != '')`
export const SLOTS_OF_ALL = (slotS: number) => `
  (namespace_id, toStartOfFiveMinutes(occurred_at)) IN (
    SELECT DISTINCT namespace_id, toStartOfFiveMinutes(slot) FROM ${MARKED_IN_RANGE} AND account_id = '' AND ${IS_OF_SLOT})
  AND (namespace_id, ${slotStart(slotS)}) IN (
    SELECT DISTINCT namespace_id, slot FROM ${MARKED_IN_RANGE} AND account_id = '' AND ${IS_OF_SLOT})`
export const SLOTS_OF_DAYS = `
  (namespace_id, toStartOfFiveMinutes(occurred_at)) IN (
    SELECT DISTINCT namespace_id, slot + within FROM (SELECT namespace_id, slot FROM ${MARKED_IN_RANGE} AND ${IS_OF_DAY})
    ${FIVES_OF_DAY})`
/** The events in all key buckets of the marked days. @param which a condition on the marks */
const IN_DAYS_OF = (which: string) => `
  (namespace_id, toStartOfFiveMinutes(occurred_at)) IN (
    SELECT namespace_id, day + within
    FROM (SELECT DISTINCT namespace_id, toStartOfDay(slot) AS day FROM ${MARKED_IN_RANGE} AND ${which}) ${FIVES_OF_DAY})`
const IS_DAY_OF_ACCOUNT = (time: string) => `
  (namespace_id, account_id, toDate(${time})) IN (
    SELECT DISTINCT namespace_id, account_id, toDate(slot) FROM ${MARKED_IN_RANGE} AND account_id != '')`
export const DAYS_OF_ACCOUNTS = {
  slots: IS_DAY_OF_ACCOUNT('slot'),
  manyOfEvents: `${IN_DAYS_OF("account_id != ''")} AND ${IS_DAY_OF_ACCOUNT('occurred_at')}`,
  events: `
  (namespace_id, toStartOfFiveMinutes(occurred_at), account_id) IN (
    SELECT namespace_id, day + within, account_id
    FROM (SELECT DISTINCT namespace_id, toStartOfDay(slot) AS day, account_id FROM ${MARKED_IN_RANGE} AND account_id != '')
    ${FIVES_OF_DAY})`,
}
export const DAYS_OF_ALL = {
  slots: `
  (namespace_id, toDate(slot)) IN (SELECT DISTINCT namespace_id, toDate(slot) FROM ${MARKED_IN_RANGE} AND account_id = '')`,
  events: IN_DAYS_OF("account_id = ''"),
}
export const SLOT_TOTALS_OF_SLOTS = `
  (namespace_id, slot) IN (SELECT DISTINCT namespace_id, slot FROM ${MARKED_IN_RANGE} AND ${IS_OF_SLOT})`
export const SLOT_TOTALS_OF_DAYS = `
  (namespace_id, toDate(slot)) IN (SELECT DISTINCT namespace_id, toDate(slot) FROM ${MARKED_IN_RANGE} AND ${IS_OF_DAY})`
export const TOTALS_OF_MARKS = `
  (namespace_id, day) IN (SELECT DISTINCT namespace_id, toDate(slot) FROM ${MARKED_IN_RANGE})`
export const MONTHS_OF_ACCOUNTS = `
  (namespace_id, account_id, toStartOfMonth(day)) IN (
    SELECT DISTINCT namespace_id, account_id, toStartOfMonth(slot) FROM ${MARKED_IN_RANGE} AND account_id != '')`
export const MONTHS_OF_ALL = `
  (namespace_id, toStartOfMonth(day)) IN (
    SELECT DISTINCT namespace_id, toStartOfMonth(slot) FROM ${MARKED_IN_RANGE} AND account_id = '')`

export const MARKED_DAYS = `
  SELECT toUnixTimestamp(toStartOfDay(slot)) AS day, toUInt32(uniqExactIf((namespace_id, account_id), account_id != '')) AS accounts,
    max(account_id = '' AND ${IS_OF_SLOT}) AS of_slots, max(account_id = '' AND ${IS_OF_DAY}) AS of_days
  FROM ${MARKED} GROUP BY day ORDER BY day`
