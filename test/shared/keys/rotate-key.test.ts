import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { newApiKey, type Permission, PERMISSIONS } from '../../../shared/domain/api-key.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { issueKey } from '../../../shared/keys/issue-key.ts'
import { revokeKey } from '../../../shared/keys/revoke-key.ts'
import { rotateKey } from '../../../shared/keys/rotate-key.ts'
import { type ApiKey, apiKeyRepository } from '../../../shared/postgres/api-keys.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { makeCompany } from '../../../shared/postgres/make-company.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

const HOUR_MS = 3_600_000

/** The expected codes of refusals. */
const REFUSALS = new Set(['forbidden', 'unprocessable', 'conflict', 'unauthenticated'])

describe('rotation of keys', function () {
  this.timeout(120_000)
  let db: TestDatabase

  before(async () => {
    db = await createDatabase('rotate_key')
  })
  after(() => db.close())

  /** Makes a company, and functions for its keys. */
  const makeWorld = async () => {
    const companyId = await makeCompany(db.pool, { name: randomUUID(), mode: 'test' })
    const company = await companyRepository(db.pool).find(companyId)
    const within = <T>(work: (client: PoolClient) => Promise<T>) =>
      inNamespace(db.pool, company?.namespaceId ?? '', work)
    const issue = (
      giver: string | null,
      permissions: readonly Permission[],
      expiresAt: Date | null,
      accountId: string | null = null,
    ) => {
      const terms = { permissions, accountId, expiresAt }
      return within((client) =>
        issueKey(client, giver, { companyId, name: 'k', secret: newApiKey('test'), ...terms }),
      )
    }
    const rotate = (giver: string | null, keyId: string, wanted: Partial<Parameters<typeof rotateKey>[2]>) =>
      within((client) =>
        rotateKey(client, giver, {
          companyId,
          keyId,
          mode: 'test',
          oldKeyEnd: { afterS: 60 },
          ...wanted,
        }),
      )
    const revoke = (giver: string | null, keyId: string) =>
      within((client) => revokeKey(client, giver, companyId, keyId))
    const list = async () => (await apiKeyRepository(db.pool).list(companyId, { limit: 10_000 })).items
    const trail = async () =>
      (await within((client) => auditTrailRepository(client).list(companyId, {}, { limit: 10_000 }))).items
    return { companyId, issue, rotate, revoke, list, trail }
  }

  const refused = (work: Promise<unknown>): Promise<DomainError> =>
    work.then(
      () => {
        throw new Error('it was done')
      },
      (err: unknown) => {
        if (err instanceof DomainError) return err
        throw err
      },
    )

  it('gains nothing, whoever rotates what, in any order and at once', async () => {
    const permissions = fc.subarray([...PERMISSIONS], { minLength: 1 })
    const end = fc.constantFrom<number | null>(null, 1, 2, 3)
    const pick = fc.nat(1_000)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('issue' as const), giver: pick, permissions, end }),
      fc.record({
        kind: fc.constant('rotate' as const),
        giver: pick,
        target: pick,
        permissions: fc.option(permissions, { nil: undefined }),
        end: fc.option(end, { nil: undefined }),
        overlapS: fc.constantFrom(0, 60),
      }),
      fc.record({ kind: fc.constant('revoke' as const), giver: pick, target: pick }),
    )
    const first = fc.record({ permissions, end })
    const done = { issue: 0, rotate: 0, revoke: 0 }
    const refusals = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(first, { minLength: 1, maxLength: 4 }),
        fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 }),
        async (firsts, rounds) => {
          const world = await makeWorld()
          const at = Date.now()
          const endOf = (hours: number | null) => (hours === null ? null : new Date(at + hours * HOUR_MS))
          /** The end of each key at its creation. A rotation may make it earlier. */
          const ends = new Map<string, Date | null>()
          for (const { permissions, end } of firsts) {
            const { id } = await world.issue(null, permissions, endOf(end))
            ends.set(id, endOf(end))
          }
          for (const round of rounds) {
            const ids = [...ends.keys()]
            const idOf = (n: number) => ids[n % ids.length] ?? ''
            const deeds = round.map(async (todo) => {
              try {
                if (todo.kind === 'issue') {
                  const made = await world.issue(idOf(todo.giver), todo.permissions, endOf(todo.end))
                  ends.set(made.id, made.expiresAt)
                } else if (todo.kind === 'rotate') {
                  const rotated = await world.rotate(idOf(todo.giver), idOf(todo.target), {
                    permissions: todo.permissions,
                    expiresAt: todo.end === undefined ? undefined : endOf(todo.end),
                    oldKeyEnd: { afterS: todo.overlapS },
                  })
                  if (rotated !== undefined) ends.set(rotated.made.id, rotated.made.expiresAt)
                } else await world.revoke(idOf(todo.giver), idOf(todo.target))
                done[todo.kind]++
              } catch (err) {
                if (!(err instanceof DomainError)) throw err
                refusals.add(err.code)
              }
            })
            await Promise.all(deeds)
          }
          const keys = await world.list()
          expect(keys.length).to.equal(ends.size)
          requireNothingGained(keys, ends)
          const entries = await world.trail()
          expect(entries.filter(({ action }) => /issued|rotated/.test(action)).length).to.equal(keys.length)
        },
      ),
      { numRuns: 60 },
    )
    expect(done.issue, 'keys issued').to.be.greaterThan(10)
    // A few of a hundred random draws have no more than ten rotations.
    expect(done.rotate, 'keys rotated').to.be.greaterThan(4)
    expect(done.revoke, 'keys revoked').to.be.greaterThan(10)
    expect([...refusals].filter((code) => !REFUSALS.has(code))).to.deep.equal([])
    expect([...refusals]).to.include.members(['forbidden', 'conflict', 'unauthenticated'])
  })

  it('is done once when many ask at once', async () => {
    const { issue, rotate, list } = await makeWorld()
    const manager = await issue(null, PERMISSIONS, null)
    const old = await issue(null, ['read:all'], null)
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => rotate(manager.id, old.id, {})))
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).to.equal(1)
    expect((await list()).length).to.equal(3)
  })

  it('keeps the end of the old key, which only who may last longer can put off', async () => {
    const { issue, rotate } = await makeWorld()
    const [soon, later] = [new Date(Date.now() + HOUR_MS), new Date(Date.now() + 2 * HOUR_MS)]
    const manager = await issue(null, PERMISSIONS, null)
    const short = await issue(manager.id, PERMISSIONS, soon)
    expect((await refused(rotate(short.id, short.id, { expiresAt: later }))).code).to.equal('forbidden')
    expect((await refused(rotate(short.id, short.id, { expiresAt: null }))).code).to.equal('forbidden')
    expect((await refused(rotate(short.id, manager.id, {}))).code).to.equal('forbidden')
    expect((await refused(issue(short.id, ['read:all'], null))).message).to.match(
      /^expires_at: this key ends at \d+, and gives no key that outlives it$/,
    )
    const own = await rotate(short.id, short.id, {})
    expect(own?.made.expiresAt).to.deep.equal(soon)
    const longer = await rotate(manager.id, own?.made.id ?? '', { expiresAt: later })
    expect(longer?.made.expiresAt).to.deep.equal(later)
    const ever = await rotate(null, longer?.made.id ?? '', { expiresAt: null })
    expect(ever?.made.expiresAt).to.equal(null)
  })

  it('never lets the old key last longer than it was to', async () => {
    const { issue, rotate } = await makeWorld()
    const soon = new Date(Date.now() + 10_000)
    const old = await issue(null, ['read:all'], soon)
    const rotated = await rotate(null, old.id, { oldKeyEnd: { afterS: 3_600 } })
    expect(rotated?.old.expiresAt).to.deep.equal(soon)
  })

  it('is refused for a key that was rotated, revoked or has expired, also to operators', async () => {
    const { issue, rotate, revoke } = await makeWorld()
    const [rotated, revoked, expired] = [
      await issue(null, PERMISSIONS, null),
      await issue(null, PERMISSIONS, null),
      await issue(null, PERMISSIONS, new Date(Date.now() + 300)),
    ]
    const next = await rotate(null, rotated.id, { oldKeyEnd: { afterS: 0 } })
    await revoke(null, revoked.id)
    await new Promise((resolve) => setTimeout(resolve, 400))
    const say = async (id: string) => (await refused(rotate(null, id, {}))).message
    expect(await say(rotated.id)).to.equal(
      `this key was rotated before: ${next?.made.id ?? ''} took its place`,
    )
    expect(await say(revoked.id)).to.equal('this key was revoked: issue another')
    expect(await say(expired.id)).to.equal('this key has expired: issue another')
    for (const { id } of [rotated, revoked, expired])
      expect((await refused(issue(id, ['read:all'], null))).code, 'gives nothing').to.equal('unauthenticated')
  })

  it('finds no key of another company', async () => {
    const [ours, theirs] = [await makeWorld(), await makeWorld()]
    const manager = await ours.issue(null, PERMISSIONS, null)
    const other = await theirs.issue(null, ['read:all'], null)
    expect(await ours.rotate(manager.id, other.id, {})).to.equal(undefined)
    expect(await ours.revoke(manager.id, other.id)).to.equal(undefined)
    expect((await refused(ours.rotate(other.id, manager.id, {}))).code).to.equal('unauthenticated')
    expect((await theirs.list())[0]).to.include({ revokedAt: null, replacedBy: null, expiresAt: null })
  })
})

/** Checks the invariants of all keys. */
function requireNothingGained(keys: readonly ApiKey[], ends: ReadonlyMap<string, Date | null>): void {
  const byId = new Map(keys.map((key) => [key.id, key]))
  const isWithin = (end: Date | null, limit: Date | null) =>
    limit === null || (end !== null && end.getTime() <= limit.getTime())
  for (const key of keys) {
    const giver = key.issuedBy === null ? undefined : byId.get(key.issuedBy)
    if (giver !== undefined) {
      expect(giver.permissions, 'the giver has what it gave').to.include.members([...key.permissions])
      const successor = byId.get(giver.replacedBy ?? '')
      const wasRotated =
        successor !== undefined &&
        successor !== key &&
        successor.createdAt.getTime() < key.createdAt.getTime()
      const limit = wasRotated ? giver.expiresAt : (ends.get(giver.id) ?? null)
      expect(isWithin(key.expiresAt, limit), 'it does not outlive its giver').to.equal(true)
      if (giver.revokedAt !== null && giver !== key)
        expect(key.createdAt.getTime(), 'nothing is given after the end').to.be.at.most(
          giver.revokedAt.getTime(),
        )
    }
    const successor = byId.get(key.replacedBy ?? '')
    if (key.replacedBy !== null) {
      expect(successor, 'the successor is there').not.to.equal(undefined)
      expect(key.permissions, 'nothing is gained').to.include.members([...(successor?.permissions ?? [])])
      expect(isWithin(key.expiresAt, ends.get(key.id) ?? null), 'the old one lasts no longer').to.equal(true)
    }
  }
  const successors = keys.map(({ replacedBy }) => replacedBy).filter((id) => id !== null)
  expect(new Set(successors).size).to.equal(successors.length)
}
