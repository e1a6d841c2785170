import type { Caller } from '../../../shared/domain/api-key.ts'
import type { AuditedAction } from '../../../shared/domain/audit-entry.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import type { TestWorlds } from '../../../shared/postgres/test-worlds.ts'

/** How the trail records a change of the clock or of the namespace of the caller's company. */
interface Move {
  action: AuditedAction
  /** The requested change. */
  changes: object
}

/** Changes the clock or the namespace of the caller's company, and records who did so, in one transaction. */
export const moveWorld = <T>(
  worlds: Pick<TestWorlds, 'move'>,
  { companyId, keyId }: Caller,
  move: Move,
  work: Parameters<typeof worlds.move<T>>[1],
): Promise<T> =>
  worlds.move(companyId, async (db, world) => {
    const done = await work(db, world)
    await auditTrailRepository(db).insert({ companyId, keyId, resourceId: companyId, ...move })
    return done
  })
