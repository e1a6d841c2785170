import { isDeepStrictEqual } from 'node:util'
import { newApiKey } from '../../shared/domain/api-key.ts'
import { propertyPairs } from '../../shared/domain/properties.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import type { EventJson, InvoiceCase, LineJson, PreviewJson, RateJson, WorldJson } from './billing-vectors.ts'
import { insertKey } from './insert-key.ts'
import type { RunningApi } from './start-api.ts'
import type { StoredWorld } from './stored-world.ts'
import { makeCorrection, makeReport } from './usage-event.ts'

export type PreviewBody = SchemaOf<'InvoicePreview'>
export type LineKeyBody = Pick<
  SchemaOf<'InvoiceDifference'>['lines'][number],
  'contract_line_id' | 'rate_id' | 'value' | 'start_at'
>

/** A case's world that was made over HTTP. */
export interface Agreement {
  contractId: string
  /** The case's name of each id. */
  labels: ReadonlyMap<string, string>
  /** The ids of the case's resources. */
  ids: ReadonlyMap<string, string>
}

/**
 * Makes a case's world over HTTP. Only its events are stored directly, with their own times. Its grants get the time at
 * which the case knows them.
 */
export async function makeAgreement(
  running: RunningApi,
  stored: StoredWorld,
  { contract, prices, rate_cards: rateCards, events, grants = [] }: WorldJson,
): Promise<Agreement> {
  const { api, account } = stored
  const labels = new Map<string, string>()
  const ids = new Map<string, string>()
  const create = async (label: string, path: string, body: object) => {
    const { id } = await api.create<{ id: string }>(path, body)
    labels.set(id, label)
    ids.set(label, id)
  }
  const idOf = (label: string): string => ids.get(label) ?? label

  const sources = new Set([
    ...[...events, ...Object.values(rateCards).flat()].map(({ source }) => source),
    ...contract.lines.map(({ credit }) => credit?.metric_id),
  ])
  for (const source of sources)
    if (source?.startsWith('metric_')) await create(source, '/v2/metrics', { name: source })
  const products = new Set(
    Object.entries(prices).map(([id, price]) => price.product_id ?? `product of ${id}`),
  )
  for (const product of products) await create(product, '/v2/products', { name: product })
  for (const [id, { product_id: product = `product of ${id}`, ...price }] of Object.entries(prices))
    await create(id, '/v2/prices', { ...price, product_id: idOf(product) })
  for (const [id, rates] of Object.entries(rateCards)) {
    const body = { name: id, currency: contract.currency, rates: rates.map((rate) => rateToBody(rate, idOf)) }
    const card = await api.create<{ id: string }>('/v2/rate-cards', body)
    ids.set(id, card.id)
    const made = await api.get<SchemaOf<'RatePage'>>(`/v2/rate-cards/${card.id}/rates`)
    // Rates that are otherwise equal need different names.
    const left = new Set(rates)
    for (const rate of made.body.data) {
      const given = [...left].find((one) => isMatch(rate, rateToBody(one, idOf)))
      if (given !== undefined) left.delete(given)
      labels.set(rate.id, given?.id ?? 'a rate that nobody made')
    }
  }
  const { lines, currency, cadence, anchor_at, starts_at, ends_at, cancel_at: cancelAt } = contract
  const made = await api.create<{ id: string }>('/v2/contracts', {
    account_id: account,
    currency,
    cadence,
    anchor_at,
    starts_at,
    ends_at,
    lines: lines.map((line) => lineToBody(line, idOf)),
  })
  const madeLines = await api.get<SchemaOf<'ContractLinePage'>>(`/v2/contracts/${made.id}/lines`)
  for (const { id, description } of madeLines.body.data) labels.set(id, description ?? '')
  // The cancellation is written directly, because the API refuses one in the past.
  if (cancelAt !== undefined)
    await stored.change(
      `UPDATE contracts SET cancel_at = to_timestamp($1), cancel_mode = 'at', cancel_requested_at = to_timestamp($1) WHERE contract_id = $2`,
      [cancelAt, made.id],
    )
  const order = grants.map(({ id }) => id).sort()
  for (const { id, amount, effective_at, expires_at, voided_at } of grants) {
    const made = await stored.grant({ currency: contract.currency, amount, effective_at, expires_at })
    // Among otherwise equal grants, the id decides which is spent first.
    const grant = `grant_${order.indexOf(id).toString(16).padStart(8, '0')}${account.slice(-24)}`
    labels.set(grant, id)
    await stored.change('UPDATE grants SET grant_id = $2, created_at = to_timestamp(0) WHERE grant_id = $1', [
      made,
      grant,
    ])
    if (voided_at !== undefined)
      await stored.change('UPDATE grants SET voided_at = to_timestamp($1) WHERE grant_id = $2', [
        voided_at,
        grant,
      ])
  }
  const rows = storedEvents(stored, events, idOf)
  await keepRevisions(running, stored, rows)
  await running.store(rows)
  return { contractId: made.id, labels, ids }
}

/**
 * Replaces the ids of an answer by the case's names. An answer does not show the remaining credit, so this field comes
 * from the expected answer.
 */
export function answerOf(preview: PreviewBody, { labels }: Agreement, available: string): PreviewJson {
  const named = (id: string): string => labels.get(id) ?? id
  const sourceOf = ({ metric_id, currency }: { metric_id: string | null; currency: string | null }) =>
    named(metric_id ?? currency ?? '')
  return inOrder({
    period: { start_at: preview.period.start_at, end_at: preview.period.end_at },
    lines: preview.lines.map((line) => ({
      line_id: named(line.contract_line_id),
      ...(line.rate_id !== null && { rate_id: named(line.rate_id) }),
      value: line.value,
      price_id: named(line.price.id),
      start_at: line.start_at,
      end_at: line.end_at,
      quantity: line.quantity,
      event_count: line.event_count,
      billable_quantity: line.billable_quantity,
      discount_percent: line.discount_percent,
      share: line.share,
      ...(line.tiers && { tiers: [...line.tiers] }),
      ...(line.bound !== undefined && { bound: line.bound }),
      exact_amount: line.exact_amount,
      amount: line.amount,
    })),
    subtotal: preview.subtotal,
    minimum_adjustment: preview.minimum_adjustment,
    total: preview.total,
    available,
    credits_applied: preview.credits_applied.map(({ grant_id: grant, amount }) => ({
      grant_id: grant === null ? null : named(grant),
      amount,
    })),
    credit_total: preview.credit_total,
    amount_due: preview.amount_due,
    unrated: preview.unrated.map(({ event_count, quantity, ...source }) => ({
      source: sourceOf(source),
      event_count,
      quantity,
    })),
    warnings: preview.warnings.map(({ contract_line_id: line, rate_id, value, price_override }) =>
      price_override === undefined
        ? {
            code: 'negative_quantity',
            line_id: named(line),
            rate_id: named(rate_id ?? ''),
            value: value ?? null,
          }
        : {
            code: 'override_unused',
            line_id: named(line),
            override: {
              ...price_override,
              product_id: named(price_override.product_id),
              price_id: named(price_override.price_id),
            },
          },
    ),
  })
}

/** Sorts entries with equal starts by their names, because their ids are random over HTTP. */
export function inOrder<T extends InvoiceCase['expect']>(answer: T): T {
  const sorted = <Item extends object>(items: readonly Item[], keyOf: (item: Item) => unknown) =>
    items.toSorted((a, b) => (JSON.stringify(keyOf(a)) < JSON.stringify(keyOf(b)) ? -1 : 1))
  return {
    ...answer,
    lines: sorted(answer.lines, (line) => [line.line_id, line.rate_id, line.value ?? null, line.start_at]),
    unrated: sorted(answer.unrated, ({ source }) => source),
    ...('warnings' in answer && { warnings: sorted(answer.warnings as object[], (warning) => warning) }),
  }
}

/** Whether an answer contains all given fields, with its lists in any order. */
const isMatch = (answer: object, given: object): boolean =>
  Object.entries(given).every(
    ([name, value]) =>
      value === undefined ||
      isDeepStrictEqual(sortedLists((answer as Record<string, unknown>)[name]), sortedLists(value)),
  )

const sortedLists = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sortedLists).sort((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1))
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort()
            .map(([name, inner]) => [name, sortedLists(inner)]),
        )
      : value

function rateToBody({ source, prices, price_id, ...rate }: RateJson, idOf: (label: string) => string) {
  return {
    ...rate,
    id: undefined,
    ...sourceToBody(source, idOf),
    ...(prices && {
      prices: prices.map(({ value, price_id: priceId }) => ({ value, price_id: idOf(priceId) })),
    }),
    ...(price_id !== undefined && { price_id: idOf(price_id) }),
  }
}

const sourceToBody = (source: string | undefined, idOf: (label: string) => string) =>
  source === undefined
    ? {}
    : source.startsWith('metric_')
      ? { metric_id: idOf(source) }
      : { currency: source }

function lineToBody(
  { id, rate_card_id, price_id, price_overrides, credit, ...line }: LineJson,
  idOf: (label: string) => string,
) {
  return {
    ...line,
    description: id,
    ...(rate_card_id !== undefined && { rate_card_id: idOf(rate_card_id) }),
    ...(price_id !== undefined && { price_id: idOf(price_id) }),
    ...(credit && {
      credit: { ...credit, ...(credit.metric_id !== undefined && { metric_id: idOf(credit.metric_id) }) },
    }),
    ...(price_overrides && {
      price_overrides: price_overrides.map((override) => ({
        ...override,
        product_id: idOf(override.product_id),
        price_id: idOf(override.price_id),
      })),
    }),
  }
}

/** Stores the revisions, because corrections are committed to PostgreSQL first. */
export async function keepRevisions(
  { pool }: RunningApi,
  { namespaceId }: StoredWorld,
  rows: readonly UsageEvent[],
): Promise<void> {
  const corrections = rows.filter(({ correctedAt }) => correctedAt !== null)
  if (corrections.length === 0) return
  const ids = new Set(corrections.map(({ id }) => id))
  const reports = rows.filter(({ id, correctedAt }) => correctedAt === null && ids.has(id))
  const { rows: companies } = await pool.query<{ company_id: string }>(
    'SELECT company_id FROM namespaces WHERE namespace_id = $1',
    [namespaceId],
  )
  const keyId = await insertKey(pool, { companyId: companies[0]?.company_id ?? '', key: newApiKey('test') })
  await inNamespace(pool, namespaceId, async (db) => {
    const revisions = eventRevisionRepository(db)
    await revisions.take(namespaceId, [...ids], reports)
    const counts = new Map<string, number>()
    const made = corrections.map((event) => {
      const revision = (counts.get(event.id) ?? 0) + 1
      counts.set(event.id, revision)
      return { event, revision, keyId, isSent: true }
    })
    await revisions.insert(namespaceId, made)
    await revisions.markSent(namespaceId, made, 0)
    // The time is in the past, because a correction that was sent a moment ago may not be loaded yet.
    await db.query(
      'UPDATE event_revisions SET sent_at = to_timestamp(corrected_at / 1000000.0) WHERE namespace_id = $1 AND revision > 0',
      [namespaceId],
    )
  })
}

/**
 * Makes the events that the loader would store: every report, and every correction of it. Their ids have the order of
 * the case's ids.
 */
function storedEvents(
  { namespaceId, account }: StoredWorld,
  events: readonly EventJson[],
  idOf: (label: string) => string,
): UsageEvent[] {
  const order = events.map(({ id }) => id).sort()
  return events.flatMap(
    ({ id, source, quantity, occurred_at, accepted_at, properties = {}, corrections = [] }) => {
      // A company may have several accounts with such events.
      const nth = `${order.indexOf(id).toString(16).padStart(8, '0')}${account.slice(-16)}`
      let event = makeReport({
        id: `event_${occurred_at.toString(16).padStart(8, '0')}${nth}`,
        namespaceId,
        accountId: account,
        source: idOf(source),
        quantity,
        occurredAt: occurred_at,
        acceptedAt: accepted_at * 1_000_000,
        properties: JSON.stringify(properties),
        propertyPairs: propertyPairs(properties),
      })
      const stored = [event]
      for (const { corrected_at, quantity: corrected = event.quantity, voided = false } of corrections)
        stored.push(
          (event = makeCorrection(event, {
            quantity: corrected,
            voided,
            correctedAt: corrected_at * 1_000_000,
          })),
        )
      return stored
    },
  )
}
