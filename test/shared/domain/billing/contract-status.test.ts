import { expect } from 'chai'
import fc from 'fast-check'
import type { ContractTimes } from '../../../../shared/domain/billing/contract.ts'
import { creditsDue } from '../../../../shared/domain/billing/contract-credits.ts'
import {
  cancellationOf,
  contractKnownAt,
  contractStatus,
  requireChangeable,
  requireNotOver,
} from '../../../../shared/domain/billing/contract-status.ts'
import { periodAt } from '../../../../shared/domain/billing/periods.ts'
import { pieceOf } from '../../../../shared/domain/billing/pieces.ts'

const SEED = 20_260_106
const DAY_S = 86_400

const times = (endsAt: number | null, cancelAt: number | null): ContractTimes => ({
  startsAt: 100,
  anchorAt: 0,
  cadence: 'day',
  endsAt,
  cancelAt,
})
const refused = (call: () => unknown, code: string) => {
  expect(call).to.throw().with.property('code', code)
}

describe('a contract', () => {
  it('that was over stays what it ended as', () => {
    expect(contractStatus(times(200, 150), 1_000)).to.equal('canceled')
    expect(contractStatus(times(200, null), 1_000)).to.equal('ended')
    expect(contractStatus(times(200, 300), 1_000)).to.equal('ended')
  })

  it('is canceled at a time from now to its end', () => {
    const cancelAt = (at: number, of = times(200, null)) =>
      cancellationOf(of, { mode: 'at', cancelAt: at }, 150)
    expect([cancelAt(150), cancelAt(200), cancelAt(9_999, times(null, null))]).to.deep.equal([
      150, 200, 9_999,
    ])
    refused(() => cancelAt(149), 'unprocessable')
    refused(() => cancelAt(201), 'unprocessable')
  })

  it('is canceled again while it runs, and once it is over the first stands', () => {
    expect(cancellationOf(times(null, 180), { mode: 'immediate' }, 150)).to.equal(150)
    expect(cancellationOf(times(null, 180), { mode: 'period_end' }, 150)).to.equal(DAY_S)
    expect(cancellationOf(times(null, 180), { mode: 'immediate' }, 190)).to.equal(180)
    refused(() => cancellationOf(times(180, null), { mode: 'immediate' }, 190), 'conflict')
  })

  it('was not known to be canceled before that was asked for, be it in the same second', () => {
    const canceled = (cancelAt: number, requestedAt: number) => ({
      ...times(null, cancelAt),
      cancellation: { requestedAt },
    })
    const statusKnownAt = (contract: ReturnType<typeof canceled>, second: number) =>
      contractStatus(contractKnownAt(contract, second), second)
    expect(statusKnownAt(canceled(150, 150), 149)).to.equal('active')
    expect(statusKnownAt(canceled(150, 150), 150)).to.equal('active')
    expect(statusKnownAt(canceled(150, 150), 151)).to.equal('canceled')
    expect(statusKnownAt(canceled(150, 140), 150)).to.equal('canceled')
    const running = { ...times(null, null), cancellation: null }
    expect(contractKnownAt(running, 150)).to.equal(running)
  })

  it('never begins when it is canceled before', () => {
    expect(cancellationOf(times(null, null), { mode: 'immediate' }, 50)).to.equal(50)
    expect(contractStatus(times(null, 50), 50)).to.equal('canceled')
  })

  it('can be changed and its cancellation taken back until it is over', () => {
    for (const [of, now] of [
      [times(null, 180), 180],
      [times(180, null), 180],
    ] as const) {
      refused(() => {
        requireNotOver(of, now)
      }, 'conflict')
      refused(() => {
        requireChangeable(of, now, now)
      }, 'conflict')
      requireNotOver(of, now - 1)
      requireChangeable(of, now - 1, now - 1)
      requireNotOver(of, 0)
    }
  })

  it('is not changed in the past, before its start, or from its end on', () => {
    const at = (effectiveAt: number) => () => {
      requireChangeable(times(200, null), effectiveAt, 120)
    }
    at(120)()
    at(199)()
    refused(at(119), 'unprocessable')
    refused(at(200), 'unprocessable')
    refused(() => {
      requireChangeable(times(200, null), 99, 50)
    }, 'unprocessable')
  })
})

describe('credit lines', () => {
  it('give one grant for each piece that has begun, whenever and however often they are asked', () => {
    const lineTimes = fc.record({
      startsAt: fc.integer({ min: 100, max: 20 * DAY_S }),
      length: fc.option(fc.integer({ min: 0, max: 20 * DAY_S })),
      cancelAt: fc.option(fc.integer({ min: 0, max: 30 * DAY_S })),
      now: fc.integer({ min: 0, max: 30 * DAY_S }),
    })
    let given = 0
    fc.assert(
      fc.property(lineTimes, ({ startsAt, length, cancelAt, now }) => {
        const contract = times(25 * DAY_S, cancelAt)
        const line = {
          startsAt,
          endsAt: length === null ? null : startsAt + length,
          amount: '5',
          expires: 'never' as const,
        }
        const byHand: [number, number][] = []
        for (let start = 0; start <= 40 * DAY_S; start += DAY_S) {
          const piece = pieceOf(line, contract, periodAt(contract, start))
          if (piece && piece.startAt <= now) byHand.push([start, piece.startAt])
        }
        const due = creditsDue(contract, line, now)
        expect(due.map(({ periodStartAt, effectiveAt }) => [periodStartAt, effectiveAt])).to.deep.equal(
          byHand,
        )
        // Credit that was due earlier stays due: a late run gives the same credit as an early one.
        expect(due.slice(0, creditsDue(contract, line, Math.floor(now / 2)).length)).to.deep.equal(
          creditsDue(contract, line, Math.floor(now / 2)),
        )
        given += due.length
      }),
      { seed: SEED, numRuns: 300 },
    )
    expect(given).to.be.above(300)
  })
})
