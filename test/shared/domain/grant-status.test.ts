import { expect } from 'chai'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { type Grant, grantStatus } from '../../../shared/domain/grant.ts'
import { createDatabase } from '../../support/postgres.ts'

const at = (second: number) => new Date(second * 1_000)
const grant = (change: Partial<Grant>): Grant => ({
  id: 'grant_1',
  accountId: 'account_1',
  source: 'usd',
  amount: parseAmount('1'),
  description: null,
  contractId: null,
  effectiveAt: at(100),
  expiresAt: at(200),
  acceptedAt: at(50),
  createdAt: at(50),
  updatedAt: at(50),
  voidedAt: null,
  archivedAt: null,
  ...change,
})

describe('the status of a grant', () => {
  it('starts and ends on the second', () => {
    const statuses = [99, 100, 199, 200].map((now) => grantStatus(grant({}), at(now)))
    expect(statuses).to.deep.equal(['scheduled', 'active', 'active', 'expired'])
    expect(grantStatus(grant({ expiresAt: null }), at(1e9))).to.equal('active')
  })

  it('is voided or archived before anything else', () => {
    for (const now of [99, 150, 250]) {
      expect(grantStatus(grant({ voidedAt: at(60) }), at(now))).to.equal('voided')
      expect(grantStatus(grant({ archivedAt: at(60) }), at(now))).to.equal('archived')
      expect(grantStatus(grant({ archivedAt: at(60), voidedAt: at(70) }), at(now))).to.equal('voided')
    }
  })

  it('is active exactly when PostgreSQL counts the grant', async () => {
    const seconds = [null, 100, 150, 200]
    const cases = [100, 150].flatMap((effectiveAt) =>
      seconds.flatMap((expiresAt) =>
        seconds.flatMap((voidedAt) =>
          seconds.flatMap((archivedAt) =>
            [99, 100, 101, 149, 150, 151, 199, 200, 201].map((now) => ({
              now,
              effectiveAt,
              expiresAt,
              voidedAt,
              archivedAt,
            })),
          ),
        ),
      ),
    )
    const maybe = (second: number | null) => (second === null ? null : at(second))
    const shown = cases.map(({ now, effectiveAt, expiresAt, voidedAt, archivedAt }) => {
      const status = grantStatus(
        grant({
          effectiveAt: at(effectiveAt),
          expiresAt: maybe(expiresAt),
          voidedAt: maybe(voidedAt),
          archivedAt: maybe(archivedAt),
        }),
        at(now),
      )
      return status === 'active'
    })
    const database = await createDatabase('grant_status')
    try {
      const { rows } = await database.pool.query<{ counts: boolean }>(
        `SELECT is_in_force(g, to_timestamp(c.now)) AS counts
          FROM jsonb_to_recordset($1)
            AS c (now float8, "effectiveAt" float8, "expiresAt" float8, "voidedAt" float8, "archivedAt" float8, n int)
          CROSS JOIN LATERAL jsonb_populate_record(NULL::grants, jsonb_build_object(
            'effective_at', to_timestamp(c."effectiveAt"), 'expires_at', to_timestamp(c."expiresAt"),
            'voided_at', to_timestamp(c."voidedAt"), 'archived_at', to_timestamp(c."archivedAt"))) g
          ORDER BY n`,
        [JSON.stringify(cases.map((one, n) => ({ ...one, n })))],
      )
      expect(rows.map(({ counts }) => counts)).to.deep.equal(shown)
      expect(new Set(shown)).to.have.property('size', 2)
    } finally {
      await database.close()
    }
  })
})
