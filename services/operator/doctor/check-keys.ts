import { apiKeyRepository, type EndingKey } from '../../../shared/postgres/api-keys.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'
import { printable } from '../../../shared/text/printable.ts'
import { type Finding, ok, warning } from './finding.ts'

const DAYS = 7
const LISTED_MAX = 20

/** Checks for keys that end soon and are still needed. */
export async function checkKeys(db: Queryable): Promise<Finding[]> {
  const ending = await apiKeyRepository(db).listEnding(DAYS, LISTED_MAX)
  if (ending.length === 0) return [ok('API keys', `no key that is needed ends within ${DAYS} days`)]
  return ending.map((key) => warning('API keys', describe(key)))
}

function describe({ id, name, company, expiresAt, isReplaced }: EndingKey): string {
  const which = `${id} (${printable(name)}) of ${printable(company)} ends ${expiresAt.toISOString()}`
  return isReplaced
    ? `${which}: it was rotated, and is still used; give its users the new one`
    : `${which}: npm run keys -- rotate ${id} makes a new one`
}
