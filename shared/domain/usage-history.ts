import { MICROS_PER_SECOND } from '../time/microsecond-clock.ts'
import { DAY_S } from './usage-cover.ts'
import type { UsageEvent } from './usage-event.ts'

/**
 * What was accepted so many seconds after it occurred, or later, is history: longer than slots are kept, as of days as old rollups
 * are computed from the events. Migrations have it as a number.
 */
const HISTORY_AFTER_S = 40 * DAY_S

/** Whether usage was reported so late that it is stored in order of accounts, too (decision 17). An event stays what it is. */
export const isHistory = ({
  occurredAt,
  acceptedAt,
}: Pick<UsageEvent, 'occurredAt' | 'acceptedAt'>): boolean =>
  acceptedAt >= (occurredAt + HISTORY_AFTER_S) * MICROS_PER_SECOND

/** The same in SQL, of a row of usage_events. */
export const IS_HISTORY = `toUnixTimestamp64Micro(accepted_at) >= (toUnixTimestamp(occurred_at) + ${HISTORY_AFTER_S}) * ${MICROS_PER_SECOND}`

/**
 * Days as old are no longer read by slot. All usage that is history lies in such days, unless clocks are days apart: slots are
 * read for a week less than it takes to become history.
 */
const DAYS_AFTER_DAYS = 36

/** Whether a day can be marked as one of history. @param day its start @param now by the clock of ClickHouse; both in Unix seconds */
export const isHistoryDay = (day: number, now: number): boolean => day + DAYS_AFTER_DAYS * DAY_S <= now
