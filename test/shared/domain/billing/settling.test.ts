import { expect } from 'chai'
import { formatRatio, parseRatio, RATIO_ZERO } from '../../../../shared/amount/ratio.ts'
import { applyCredit, type CreditGrant } from '../../../../shared/domain/billing/credit.ts'

const DAY = 86_400

describe('settling invoices', () => {
  /** The credit that invoices of 10 a day use, when each is settled before the next. */
  const settleDays = (given: readonly CreditGrant[], days: number): string[][] => {
    const grants = [...given]
    return Array.from({ length: days }, (_, day) => {
      const before = (day + 1) * DAY
      const { creditsApplied } = applyCredit({
        total: parseRatio('10'),
        grants,
        usage: RATIO_ZERO,
        before,
        minorUnits: 2,
      })
      for (const { grantId, amount } of creditsApplied) {
        const settled = given.find(({ id }) => id === grantId)
        const expiresAt = settled?.expiresAt ?? null
        if (expiresAt === null || expiresAt > before)
          grants.push(grant(`debit_${day}_${grantId ?? ''}`, `-${formatRatio(amount)}`, before, expiresAt))
      }
      return creditsApplied.map(({ grantId, amount }) => `${grantId ?? ''} ${formatRatio(amount)}`)
    })
  }

  it('spends each grant once, those that expire beside those that do not', () => {
    const given = [
      grant('for_good', '10', 0, null),
      grant('second_day', '10', DAY, 2 * DAY),
      grant('later', '10', 2 * DAY, null),
    ]
    expect(settleDays(given, 4)).to.deep.equal([['for_good 10'], ['second_day 10'], ['later 10'], []])
  })

  it('takes what lasts longer only once what expires first is used up', () => {
    const given = [grant('week', '15', 0, 7 * DAY), grant('month', '12', 0, 30 * DAY)]
    expect(settleDays(given, 4)).to.deep.equal([['week 10'], ['week 5', 'month 5'], ['month 7'], []])
  })

  it('counts a debit that settles nothing of its own end against what is spent first', () => {
    const given = [grant('week', '15', 0, 7 * DAY), grant('debit', '-12', 0, null)]
    expect(settleDays(given, 2)).to.deep.equal([['week 3'], []])
  })
})

const grant = (id: string, amount: string, effectiveAt: number, expiresAt: number | null): CreditGrant => ({
  id,
  amount: parseRatio(amount),
  effectiveAt,
  expiresAt,
  voidedAt: null,
  archivedAt: null,
})
