import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../../shared/clickhouse/dimensions.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { dimensionChangeRepository } from '../../../shared/postgres/dimension-changes.ts'
import { runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { printable } from '../../../shared/text/printable.ts'
import type { CommandContext } from '../command.ts'
import { auditDimensions, type DimensionFinding, type DimensionTotals } from './audit-dimensions.ts'

/** How long rows are waited for that were just changed. The rollup service copies them within a second or two. */
const LAG_MAX_MS = 30_000
/** Enough to see that two differ; the audit itself compares whole digests. */
const DIGITS_SHOWN = 16

/** npm run audit -- --dimensions. @returns the exit code */
export async function runDimensionAudit(
  pool: Pool,
  clickhouse: ClickHouse,
  { print, signal }: CommandContext,
): Promise<number> {
  const deps = {
    changes: dimensionChangeRepository(pool),
    copies: dimensionRepository(clickhouse),
    retired: retiredNamespaceRepository(pool),
    signal,
  }
  const { totals, findings, findingsMore } = await runExclusively(pool, 'audit', () =>
    auditDimensions(deps, LAG_MAX_MS),
  )
  for (const line of totals.map(describeTotals)) print(line)
  for (const line of findings.map(describeFinding)) print(line)
  if (findingsMore > 0) print(`and ${findingsMore} more findings`)
  const count = findings.length + findingsMore
  const counted = `${count} ${count === 1 ? 'finding' : 'findings'}`
  print(count === 0 ? 'the copies are equal' : `${counted}: docs/operations.md says what to do`)
  return count === 0 ? 0 : 1
}

function describeTotals({ table, postgres, clickhouse }: DimensionTotals): string {
  const rows = `${table.padEnd(16)} ${String(postgres.rows).padStart(9)} rows, digest ${shown(postgres.digest)}`
  const isEqual = postgres.rows === clickhouse.rows && postgres.digest === clickhouse.digest
  return isEqual ? rows : `${rows}; in ClickHouse ${clickhouse.rows} rows, digest ${shown(clickhouse.digest)}`
}

const shown = (digest: bigint): string => digest.toString(16).padStart(32, '0').slice(-DIGITS_SHOWN)

const describeFinding = ({ kind, table, namespaceId, id }: DimensionFinding): string =>
  `${kind.toUpperCase()}: ${table} ${id === undefined ? '(all)' : printable(id)} of namespace ${printable(namespaceId)}`
