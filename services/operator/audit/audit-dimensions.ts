import { setTimeout as sleep } from 'node:timers/promises'
import type { dimensionRepository } from '../../../shared/clickhouse/dimensions.ts'
import { groupBy } from '../../../shared/collections/group-by.ts'
import { DIMENSION_TABLES, type DimensionTable } from '../../../shared/domain/dimension-table.ts'
import type {
  dimensionChangeRepository,
  DimensionDigest,
} from '../../../shared/postgres/dimension-changes.ts'
import type { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { FINDINGS_MAX } from './audit-result.ts'
import { pagesOf } from './pages-of.ts'

export interface AuditDimensionsDeps {
  changes: Pick<
    ReturnType<typeof dimensionChangeRepository>,
    'listNamespaces' | 'listDigests' | 'findDigests'
  >
  copies: Pick<ReturnType<typeof dimensionRepository>, 'listDigests' | 'findDigests'>
  /** Read after the rows: a namespace may be reset during the audit, and then its rows are deleted. */
  retired: Pick<ReturnType<typeof retiredNamespaceRepository>, 'listRetired'>
  signal: AbortSignal
}

/** The number of rows of a table and the sum of their digests, in both databases. */
export interface DimensionTotals {
  table: string
  postgres: { rows: number; digest: bigint }
  clickhouse: { rows: number; digest: bigint }
}

export interface DimensionFinding {
  kind:
    | 'missing' // PostgreSQL has the row, ClickHouse has no copy
    | 'too many' // ClickHouse has a copy, PostgreSQL does not have the row
    | 'older' // the last change of the row is not copied
    | 'newer' // the copy is of a later change than PostgreSQL has
    | 'altered' // the copy is of the last change, but its content differs
    | 'not noted' // dimension_changes has no change of the row, so the row is never copied
  table: string
  namespaceId: string
  /** Undefined for all rows of the namespace. */
  id: string | undefined
}

export interface DimensionAudit {
  totals: DimensionTotals[]
  findings: DimensionFinding[]
  /** The number of findings that are not listed. */
  findingsMore: number
}

const ROWS_AT_ONCE = 5_000
/** How many rows that differ are collected before they are compared again. */
const SUSPECTS_MAX = 20_000
/** A server of ClickHouse accepts 128 KiB in a parameter. */
const IDS_AT_ONCE = 1_500
const LOOK_AGAIN_MS = 500
const DIGESTS = 2n ** 128n

interface Suspect {
  table: DimensionTable
  namespaceId: string
  id: string
}

/**
 * Compares the rows of the dimension tables in PostgreSQL with their copies in ClickHouse. A row and its copy are equal
 * if they have the same digest and the same number of the last change. Rows that differ are compared again, because a
 * change may not be copied yet. Rows that still differ are reported.
 *
 * @param lagMaxMs how long the audit waits, in total, until changes are copied
 */
export async function auditDimensions(deps: AuditDimensionsDeps, lagMaxMs: number): Promise<DimensionAudit> {
  const result: DimensionAudit = { totals: [], findings: [], findingsMore: 0 }
  const namespaces = await deps.changes.listNamespaces()
  const waiting = { untilMs: performance.now() + lagMaxMs }
  for (const table of DIMENSION_TABLES) {
    const nothing = () => ({ rows: 0, digest: 0n })
    const totals = { table: table.name, postgres: nothing(), clickhouse: nothing() }
    result.totals.push(totals)
    const copied = await cursorOf(
      inOrder((after?: Copied) => deps.copies.listDigests(table, after, ROWS_AT_ONCE)),
    )
    const others = new Set<string>()
    const skipTo = async (namespaceId: string | undefined) => {
      for (let head = copied.head(); head !== undefined; head = copied.head()) {
        if (namespaceId !== undefined && head.namespaceId >= namespaceId) return
        others.add(head.namespaceId)
        await copied.advance()
      }
    }
    let suspects: Suspect[] = []
    for (const namespaceId of namespaces) {
      deps.signal.throwIfAborted()
      await skipTo(namespaceId)
      for await (const [row, copy] of pairsOf(deps, namespaceId, table, copied)) {
        if (isEqual(row, copy)) count(totals, row, copy)
        else suspects.push({ table, namespaceId, id: row?.id ?? copy?.id ?? '' })
        if (suspects.length < SUSPECTS_MAX) continue
        await lookAgain(deps, suspects, waiting, totals, result)
        suspects = []
      }
    }
    await skipTo(undefined)
    await lookAgain(deps, suspects, waiting, totals, result)
    await reportOthers(deps, table, [...others], result)
  }
  await forgetRetired(deps, result)
  return result
}

/** Reports namespaces that have copies, but belong to no company. */
async function reportOthers(
  { changes, retired }: AuditDimensionsDeps,
  table: DimensionTable,
  others: readonly string[],
  result: DimensionAudit,
): Promise<void> {
  if (others.length === 0) return
  // The namespace of a company that was made during the audit is not in the first list.
  const known = new Set([...(await changes.listNamespaces()), ...(await retired.listRetired(others))])
  for (const namespaceId of others)
    if (!known.has(namespaceId))
      report(result, { kind: 'too many', table: table.name, namespaceId, id: undefined })
}

type Copied = DimensionDigest & { namespaceId: string }

interface Cursor<T> {
  /** The next item; undefined at the end. */
  head: () => T | undefined
  advance: () => Promise<void>
}

async function cursorOf<T>(items: AsyncGenerator<T>): Promise<Cursor<T>> {
  let head: T | undefined
  const advance = async () => {
    const next = await items.next()
    head = next.done === true ? undefined : next.value
  }
  await advance()
  return { head: () => head, advance }
}

type Pair = readonly [row: DimensionDigest | undefined, copy: DimensionDigest | undefined]

/**
 * Yields the rows of a namespace, each with its copy, in the order of their keys.
 *
 * @param copied its next item is the first copy of the namespace, if there is one
 */
async function* pairsOf(
  { changes }: AuditDimensionsDeps,
  namespaceId: string,
  table: DimensionTable,
  copied: Cursor<Copied>,
): AsyncGenerator<Pair> {
  const rows = await cursorOf(
    inOrder((after?: DimensionDigest) => changes.listDigests(namespaceId, table, after?.id, ROWS_AT_ONCE)),
  )
  for (;;) {
    const row = rows.head()
    const head = copied.head()
    const copy = head?.namespaceId === namespaceId ? head : undefined
    if (row === undefined && copy === undefined) return
    const order = compare(table, row, copy)
    yield [order <= 0 ? row : undefined, order >= 0 ? copy : undefined]
    if (order <= 0) await rows.advance()
    if (order >= 0) await copied.advance()
  }
}

async function* inOrder<T>(list: (after?: T) => Promise<T[]>): AsyncGenerator<T> {
  for await (const page of pagesOf(list, ROWS_AT_ONCE)) yield* page
}

/**
 * Compares the keys of a row and a copy. The result is below 0 if the row comes first, and above 0 if the copy does. If
 * one of them is absent, the other one comes first.
 */
function compare(
  { key }: DimensionTable,
  row: DimensionDigest | undefined,
  copy: DimensionDigest | undefined,
) {
  if (row === undefined || copy === undefined) return row === undefined ? 1 : -1
  const [a, b] = [row.id.split(' '), copy.id.split(' ')]
  for (const [index, { kind }] of key.entries()) {
    const [left = '', right = ''] = [a[index], b[index]]
    if (left === right) continue
    return (kind === 'integer' ? Number(left) < Number(right) : left < right) ? -1 : 1
  }
  return 0
}

const isEqual = (row: DimensionDigest | undefined, copy: DimensionDigest | undefined): boolean =>
  row?.number === copy?.number && row?.digest === copy?.digest

function count(
  { postgres, clickhouse }: DimensionTotals,
  row: DimensionDigest | undefined,
  copy: DimensionDigest | undefined,
): void {
  for (const [side, digest] of [
    [postgres, row?.digest],
    [clickhouse, copy?.digest],
  ] as const)
    if (digest !== undefined) {
      side.rows++
      side.digest = (side.digest + BigInt(`0x${digest}`)) % DIGESTS
    }
}

/** Compares rows again that differed, until each is equal to its copy or the time to wait is over. */
async function lookAgain(
  deps: AuditDimensionsDeps,
  suspects: readonly Suspect[],
  waiting: { untilMs: number },
  totals: DimensionTotals,
  result: DimensionAudit,
): Promise<void> {
  let left = suspects
  while (left.length > 0) {
    const isLast = performance.now() >= waiting.untilMs
    const next: Suspect[] = []
    for (const [namespaceId, all] of groupBy(left, (one) => one.namespaceId))
      for (let start = 0; start < all.length; start += IDS_AT_ONCE) {
        const some = all.slice(start, start + IDS_AT_ONCE)
        for (const [suspect, row, copy] of await readBoth(deps, namespaceId, some)) {
          const kind = isEqual(row, copy) ? undefined : kindOf(row, copy)
          // The copy was read after the row. If it is of the same change, its content must be the same, without a wait.
          if (kind !== undefined && kind !== 'altered' && !isLast) next.push(suspect)
          else {
            count(totals, row, copy)
            if (kind !== undefined)
              report(result, { kind, table: suspect.table.name, namespaceId, id: suspect.id })
          }
        }
      }
    left = next
    if (left.length > 0) await sleep(LOOK_AGAIN_MS, undefined, { signal: deps.signal })
  }
}

/** Reads rows, then their copies. */
async function readBoth(
  { changes, copies }: AuditDimensionsDeps,
  namespaceId: string,
  suspects: readonly Suspect[],
): Promise<(readonly [Suspect, ...Pair])[]> {
  const [first] = suspects
  if (first === undefined) return []
  const ids = suspects.map(({ id }) => id)
  const byId = (found: readonly DimensionDigest[]) => new Map(found.map((one) => [one.id, one]))
  const rows = byId(await changes.findDigests(namespaceId, first.table, ids))
  const copied = byId(await copies.findDigests(namespaceId, first.table, ids))
  return suspects.map((suspect) => [suspect, rows.get(suspect.id), copied.get(suspect.id)] as const)
}

function kindOf(
  row: DimensionDigest | undefined,
  copy: DimensionDigest | undefined,
): DimensionFinding['kind'] {
  if (row === undefined) return 'too many'
  if (row.number === undefined) return 'not noted'
  if (copy?.number === undefined) return 'missing'
  if (copy.number === row.number) return 'altered'
  return copy.number < row.number ? 'older' : 'newer'
}

function report(result: DimensionAudit, finding: DimensionFinding): void {
  if (result.findings.length < FINDINGS_MAX) result.findings.push(finding)
  else result.findingsMore++
}

/** Drops findings of namespaces that were reset during the audit. */
async function forgetRetired({ retired }: AuditDimensionsDeps, result: DimensionAudit): Promise<void> {
  const ids = [...new Set(result.findings.map(({ namespaceId }) => namespaceId))]
  if (ids.length === 0) return
  const reset = new Set(await retired.listRetired(ids))
  result.findings = result.findings.filter(({ namespaceId }) => !reset.has(namespaceId))
}
