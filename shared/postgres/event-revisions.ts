import { canonicalAmount } from '../amount/amount.ts'
import type { EventRevision } from '../domain/correct-event.ts'
import { type Properties, propertyPairs } from '../domain/properties.ts'
import {
  contentOf,
  correctionVersion,
  occurredAtOfEventId,
  reportVersion,
  type UsageEvent,
} from '../domain/usage-event.ts'
import { isMetric } from '../domain/usage-source.ts'
import { type Micros, MICROS_PER_SECOND } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'

/** Identifies an event among the events of all namespaces. */
export type EventKey = Pick<UsageEvent, 'namespaceId' | 'id'>

/** The key by which the audit lists corrections. */
export type CorrectionKey = EventKey & { correctedAt: Micros }

interface RevisionRow {
  namespace_id: string
  event_id: string
  revision: number
  account_id: string
  metric_id: string | null
  currency: string | null
  quantity: string
  properties: string
  voided: boolean
  accepted_at: string
  corrected_at: string | null
  key_id: string | null
  is_sent: boolean
}

const COLUMNS = `namespace_id, event_id, revision, account_id, metric_id, currency, quantity, properties, voided,
  accepted_at, corrected_at, key_id, sent_at IS NOT NULL AS is_sent`
const INSERT = `
  INSERT INTO event_revisions (namespace_id, event_id, revision, account_id, metric_id, currency, quantity, properties,
    voided, accepted_at, corrected_at, key_id)
  SELECT $1, event_id, revision, account_id, metric_id, currency, quantity, properties, voided, accepted_at, corrected_at, key_id
  FROM unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::text[], $9::boolean[],
      $10::bigint[], $11::bigint[], $12::uuid[])
    AS r (event_id, revision, account_id, metric_id, currency, quantity, properties, voided, accepted_at, corrected_at, key_id)
  ORDER BY event_id COLLATE "C"`
const UNLESS_THERE = 'ON CONFLICT (namespace_id, event_id, revision) DO NOTHING'
const LOCK = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
  FROM event_revisions WHERE namespace_id = $1 AND event_id = ANY ($2) AND revision = 0 ORDER BY event_id FOR UPDATE`
const LIST_NEWEST = `
  SELECT DISTINCT ON (event_id) ${COLUMNS} FROM event_revisions
  WHERE namespace_id = $1 AND event_id = ANY ($2) ORDER BY event_id, revision DESC`
const LIST_BEFORE = `
  SELECT DISTINCT ON (event_id) ${COLUMNS} FROM event_revisions
  WHERE namespace_id = $1 AND event_id = ANY ($2) AND (revision = 0 OR corrected_at < $3)
  ORDER BY event_id, revision DESC`
const LIST = `
  SELECT ${COLUMNS} FROM event_revisions
  WHERE namespace_id = $1 AND event_id = $2 AND revision > $3 ORDER BY revision LIMIT $4`
// An id begins with the second in which the event occurred.
const LIST_CORRECTED_DAYS = `
  SELECT account_id AS "accountId", array_agg(DISTINCT (('x' || substr(event_id, 7, 8))::bit(32)::bigint / 86400)::integer) AS days
  FROM event_revisions
  WHERE namespace_id = $1 AND account_id = ANY ($2) AND revision > 0 AND corrected_at >= $3 GROUP BY account_id`
const MARK_SENT = `
  UPDATE event_revisions SET sent_at = greatest(clock_timestamp(), to_timestamp($4))
  WHERE namespace_id = $1 AND sent_at IS NULL
    AND (event_id, revision) IN (SELECT * FROM unnest($2::text[], $3::integer[]))`
const LIST_UNSENT = `
  SELECT ${COLUMNS}, extract(epoch FROM clock_timestamp() - made_at)::float8 AS age_s FROM event_revisions
  WHERE sent_at IS NULL AND revision > 0 AND made_at < clock_timestamp() - $1 * interval '1 millisecond'
  ORDER BY made_at LIMIT $2`
const LIST_CORRECTED = `
  SELECT namespace_id, event_id, corrected_at, sent_at IS NOT NULL AS is_sent,
    extract(epoch FROM clock_timestamp() - made_at)::float8 AS age_s
  FROM event_revisions
  WHERE revision > 0 AND corrected_at < $1 AND (corrected_at, namespace_id, event_id) > ($2, $3, $4)
  ORDER BY corrected_at, namespace_id, event_id LIMIT $5`
const LIST_CORRECTED_AT = `
  SELECT ${COLUMNS} FROM event_revisions
  WHERE (namespace_id, event_id, corrected_at) IN (SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[]))`
const LIST_MISSING = `
  SELECT u.namespace_id, u.event_id, u.corrected_at
  FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS u (namespace_id, event_id, corrected_at)
  WHERE NOT EXISTS (SELECT 1 FROM event_revisions r WHERE r.namespace_id = u.namespace_id AND r.event_id = u.event_id
                      AND r.corrected_at = u.corrected_at AND r.revision > 0)`
const LIST_NEWEST_OF_ALL = `
  SELECT DISTINCT ON (namespace_id, event_id) ${COLUMNS} FROM event_revisions
  WHERE (namespace_id, event_id) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))
  ORDER BY namespace_id, event_id, revision DESC`
const LIST_FIRST_OF_ALL = `
  SELECT ${COLUMNS} FROM event_revisions
  WHERE revision = 0 AND (namespace_id, event_id) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))`

/** An id that sorts after every other namespace. */
const LAST_NAMESPACE = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Revisions of the events of one namespace. It needs a transaction in that namespace: see inNamespace. */
export const eventRevisionRepository = (db: Queryable) => ({
  /** Lists the newest revision of each of these events. Events that were never corrected are absent. */
  async listNewest(namespaceId: string, ids: readonly string[]): Promise<Map<string, EventRevision>> {
    const { rows } = await db.query<RevisionRow>(LIST_NEWEST, [namespaceId, ids])
    return new Map(rows.map((row) => [row.event_id, revisionFromRow(row)]))
  },

  /**
   * Locks these events for the rest of the transaction, so that their newest revisions stay the newest. Transactions
   * that correct several events lock them in order of their ids, so that no two transactions deadlock.
   *
   * @param reports the reports of events that may have no revision yet; they are stored as revision 0
   * @returns the current time of the database's clock. A correction must not have an earlier time. Otherwise a reader
   *   who has already asked for the state at that time would have missed the correction
   */
  async take(namespaceId: string, ids: readonly string[], reports: readonly UsageEvent[]): Promise<Micros> {
    const first = reports.map((event) => ({ event, revision: 0, keyId: null }))
    await db.query(`${INSERT} ${UNLESS_THERE}`, valuesOf(namespaceId, first))
    const { rows } = await db.query<{ now: string }>(LOCK, [namespaceId, ids])
    return Math.max(0, ...rows.map(({ now }) => Number(now)))
  },

  /** On which UTC days (since 1970) those events of accounts occurred that were corrected at or after a time. */
  async listCorrectedDays(
    namespaceId: string,
    accountIds: readonly string[],
    since: Micros,
  ): Promise<{ accountId: string; days: number[] }[]> {
    const values = [namespaceId, accountIds, since]
    const { rows } = await db.query<{ accountId: string; days: number[] }>(LIST_CORRECTED_DAYS, values)
    return rows
  },

  /**
   * Finds each of these events as it was before a time: its last correction before that time, or its report if there is
   * none. Events that were never corrected are absent.
   */
  async listBefore(
    namespaceId: string,
    ids: readonly string[],
    before: Micros,
  ): Promise<Map<string, UsageEvent>> {
    const { rows } = await db.query<RevisionRow>(LIST_BEFORE, [namespaceId, ids, before])
    return new Map(rows.map((row) => [row.event_id, revisionFromRow(row).event]))
  },

  /** Adds corrections of events that are locked. */
  async insert(
    namespaceId: string,
    revisions: readonly Pick<EventRevision, 'event' | 'revision' | 'keyId'>[],
  ): Promise<void> {
    await db.query(INSERT, valuesOf(namespaceId, revisions))
  },

  /** Lists the revisions of an event in order, after a given revision. */
  async list(namespaceId: string, id: string, after: number, limit: number): Promise<EventRevision[]> {
    const { rows } = await db.query<RevisionRow>(LIST, [namespaceId, id, after, limit])
    return rows.map(revisionFromRow)
  },

  /**
   * Records that the event log has these revisions.
   *
   * @param at the time that they have in the log, or a later time. The database's clock may be behind it
   */
  async markSent(namespaceId: string, revisions: readonly EventRevision[], at: Micros): Promise<void> {
    await db.query(MARK_SENT, [
      namespaceId,
      revisions.map(({ event }) => event.id),
      revisions.map(({ revision }) => revision),
      at / MICROS_PER_SECOND,
    ])
  },
})

/** Corrections of all namespaces. It needs a transaction that reads all of them: see inEveryNamespace. */
export const everyRevisionRepository = (db: Queryable) => ({
  /**
   * Lists corrections that are not marked as sent to the event log, the oldest first.
   *
   * @param olderThanMs younger corrections are left out, because they are probably being sent
   */
  async listUnsent(
    olderThanMs: number,
    limit: number,
  ): Promise<{ revisions: EventRevision[]; ageS: number }> {
    const { rows } = await db.query<RevisionRow & { age_s: number }>(LIST_UNSENT, [olderThanMs, limit])
    return { revisions: rows.map(revisionFromRow), ageS: rows[0]?.age_s ?? 0 }
  },

  /** Lists those of the keys that no correction has. */
  async listMissing(keys: readonly CorrectionKey[]): Promise<CorrectionKey[]> {
    const { rows } = await db.query<{ namespace_id: string; event_id: string; corrected_at: string }>(
      LIST_MISSING,
      [
        keys.map(({ namespaceId }) => namespaceId),
        keys.map(({ id }) => id),
        keys.map(({ correctedAt }) => correctedAt),
      ],
    )
    return rows.map((row) => ({
      namespaceId: row.namespace_id,
      id: row.event_id,
      correctedAt: Number(row.corrected_at),
    }))
  },

  /**
   * Lists the keys of corrections that were made before a time, in order of these keys.
   *
   * @param after the first time wanted, or the last key of the previous page
   */
  async listCorrected(
    after: CorrectionKey | Micros,
    before: Micros,
    limit: number,
  ): Promise<(CorrectionKey & { isSent: boolean; ageS: number })[]> {
    const last =
      typeof after === 'number' ? { correctedAt: after - 1, namespaceId: LAST_NAMESPACE, id: '' } : after
    const { rows } = await db.query<
      Pick<RevisionRow, 'namespace_id' | 'event_id' | 'corrected_at' | 'is_sent'> & { age_s: number }
    >(LIST_CORRECTED, [before, last.correctedAt, last.namespaceId, last.id, limit])
    return rows.map((row) => ({
      namespaceId: row.namespace_id,
      id: row.event_id,
      correctedAt: Number(row.corrected_at),
      isSent: row.is_sent,
      ageS: row.age_s,
    }))
  },

  /** Lists the corrections with these keys. Unknown keys are absent. */
  async listCorrectedAt(keys: readonly CorrectionKey[]): Promise<EventRevision[]> {
    const { rows } = await db.query<RevisionRow>(LIST_CORRECTED_AT, [
      keys.map(({ namespaceId }) => namespaceId),
      keys.map(({ id }) => id),
      keys.map(({ correctedAt }) => correctedAt),
    ])
    return rows.map(revisionFromRow)
  },

  /** Lists the newest revision of each of these events. */
  listNewest: (keys: readonly EventKey[]): Promise<EventRevision[]> => listOf(db, LIST_NEWEST_OF_ALL, keys),

  /** Lists revision 0 (the report) of each of these events. Events that were never corrected are absent. */
  listFirst: (keys: readonly EventKey[]): Promise<EventRevision[]> => listOf(db, LIST_FIRST_OF_ALL, keys),
})

async function listOf(db: Queryable, query: string, keys: readonly EventKey[]): Promise<EventRevision[]> {
  const values = [keys.map(({ namespaceId }) => namespaceId), keys.map(({ id }) => id)]
  const { rows } = await db.query<RevisionRow>(query, values)
  return rows.map(revisionFromRow)
}

function valuesOf(
  namespaceId: string,
  revisions: readonly Pick<EventRevision, 'event' | 'revision' | 'keyId'>[],
): unknown[] {
  const events = revisions.map(({ event }) => event)
  return [
    namespaceId,
    events.map(({ id }) => id),
    revisions.map(({ revision }) => revision),
    events.map(({ accountId }) => accountId),
    events.map(({ source }) => (isMetric(source) ? source : null)),
    events.map(({ source }) => (isMetric(source) ? null : source)),
    events.map(({ quantity }) => quantity),
    events.map(({ properties }) => properties),
    events.map(({ voided }) => voided),
    events.map(({ acceptedAt }) => acceptedAt),
    events.map(({ correctedAt }) => correctedAt),
    revisions.map(({ keyId }) => keyId),
  ]
}

function revisionFromRow(row: RevisionRow): EventRevision {
  const acceptedAt = Number(row.accepted_at)
  const correctedAt = row.corrected_at === null ? null : Number(row.corrected_at)
  const content = { quantity: canonicalAmount(row.quantity), properties: row.properties, voided: row.voided }
  return {
    revision: row.revision,
    keyId: row.key_id,
    isSent: row.is_sent,
    event: {
      ...content,
      namespaceId: row.namespace_id,
      id: row.event_id,
      accountId: row.account_id,
      source: row.metric_id ?? row.currency ?? '',
      occurredAt: occurredAtOfEventId(row.event_id),
      propertyPairs: propertyPairs(JSON.parse(row.properties) as Properties),
      acceptedAt,
      correctedAt,
      version:
        correctedAt === null
          ? reportVersion(acceptedAt, contentOf(content))
          : correctionVersion(correctedAt, contentOf(content)),
    },
  }
}
