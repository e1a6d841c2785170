import type { ContractLine, PriceOverride } from '../../../shared/domain/billing/contract.ts'
import { contractStatus } from '../../../shared/domain/billing/contract-status.ts'
import { periodAt } from '../../../shared/domain/billing/periods.ts'
import { contractRange } from '../../../shared/domain/billing/pieces.ts'
import {
  type ContractRecord,
  isToCome,
  type StoredContract,
  type StoredLine,
} from '../../../shared/domain/billing/stored-contract.ts'
import { intersect, type TimeRange } from '../../../shared/domain/time-range.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf } from '../core/body-fields.ts'

/**
 * A contract with the lines that have not ended.
 * @param now the time for which status, period and lines are shown, in Unix seconds
 */
export const contractToBody = (contract: StoredContract, now: number): SchemaOf<'Contract'> => ({
  ...recordToBody(contract, now),
  lines: contract.lines.filter((line) => isToCome(line, now)).map(lineToBody),
})

/**
 * A contract in a list.
 * @param now the time for which status and period are shown, in Unix seconds
 */
export const recordToBody = (contract: ContractRecord, now: number): SchemaOf<'ContractSummary'> => ({
  id: contract.id,
  ...present({ external_id: contract.externalId, name: contract.name, description: contract.description }),
  account_id: contract.accountId,
  currency: contract.currency,
  cadence: contract.cadence,
  starts_at: contract.startsAt,
  anchor_at: contract.anchorAt,
  ends_at: contract.endsAt,
  status: contractStatus(contract, now),
  cancellation: cancellationToBody(contract),
  current_period: currentPeriodOf(contract, now),
  created_at: secondsOf(contract.createdAt),
  updated_at: secondsOf(contract.updatedAt),
})

const cancellationToBody = ({ cancelAt, cancellation }: ContractRecord) =>
  cancellation === null || cancelAt === null
    ? null
    : {
        cancel_at: cancelAt,
        mode: cancellation.mode,
        ...present({ reason: cancellation.reason }),
        requested_at: cancellation.requestedAt,
      }

/** The contract's part of the current period, and the whole period; null while the contract is not in force. */
function currentPeriodOf(contract: ContractRecord, now: number) {
  const whole = periodAt(contract, now)
  const inForce = intersect(whole, contractRange(contract))
  return inForce === undefined || now < inForce.startAt || now >= inForce.endAt
    ? null
    : periodToBody(inForce, whole)
}

/** The contract's part of a period, and the whole period. */
export const periodToBody = (period: TimeRange, whole: TimeRange): SchemaOf<'ContractPeriod'> => ({
  start_at: period.startAt,
  end_at: period.endAt,
  full_start_at: whole.startAt,
  full_end_at: whole.endAt,
})

export const lineToBody = (line: StoredLine): SchemaOf<'ContractLine'> => ({
  id: line.id,
  ...present({ description: line.description }),
  starts_at: line.startsAt,
  ends_at: line.endsAt,
  ...termsToBody(line),
  created_at: secondsOf(line.createdAt),
})

function termsToBody(line: ContractLine): Partial<SchemaOf<'ContractLine'>> {
  switch (line.kind) {
    case 'card':
      return {
        rate_card_id: line.rateCardId,
        price_overrides: line.priceOverrides.map(overrideToBody),
        discount_percent: line.discountPercent,
      }
    case 'price':
      return { price_id: line.priceId, quantity: line.quantity, discount_percent: line.discountPercent }
    case 'minimum':
      return { minimum_amount: line.minimumAmount }
    case 'credit':
      return { credit: { amount: line.amount, ...sourceToBody(line.source), expires: line.expires } }
  }
}

export const overrideToBody = ({ productId, value, priceId }: PriceOverride): SchemaOf<'PriceOverride'> => ({
  product_id: productId,
  ...(value !== undefined && { value }),
  price_id: priceId,
})
