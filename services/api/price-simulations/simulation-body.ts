import { formatRatio } from '../../../shared/amount/ratio.ts'
import type { PriceRecord } from '../../../shared/domain/billing/price-record.ts'
import type { InvoiceLine } from '../../../shared/domain/billing/rate-usage.ts'
import type { SimulatedAccount } from '../../../shared/domain/billing/simulate.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { AnswerOf, RequestOf, SchemaOf } from '../../../shared/http/operation.ts'
import { pageToBody } from '../core/body-fields.ts'
import { lineToBody } from '../invoice-previews/body.ts'
import type { RatedAccount } from './rate-accounts.ts'
import { NO_CONTRACT_LINE, type Simulation, type SimulationRequest } from './simulate-card.ts'

/** The body of a request for a simulation. */
type SimulationRequestBody = RequestOf<'simulateRateCard'>['body']

/** @throws DomainError unprocessable when lines are requested without accounts */
export function simulationFromBody(rateCardId: string, body: SimulationRequestBody): SimulationRequest {
  if (body.include_lines && body.account_ids === undefined)
    throw new DomainError('unprocessable', 'include_lines: needs account_ids')
  return {
    rateCardId,
    range: { startAt: body.start_at, endAt: body.end_at },
    cadence: body.cadence,
    changes: body.changes,
    against: body.against,
    accountIds: body.account_ids,
    page: { limit: body.limit, startingAfter: body.starting_after },
  }
}

/** The data that is needed to show lines of accounts. */
export interface ShownLines {
  /** The prices of all lines. */
  prices: ReadonlyMap<string, PriceRecord>
  /** Returns the SELECT that gives a line's quantity, or null when no SELECT gives it. */
  queryOf: (accountId: string, line: InvoiceLine) => string | null
}

/** @param lines undefined: lines are not shown */
export const simulationToBody = (
  { usageAsOf, currency, accounts, totals }: Simulation,
  lines: ShownLines | undefined,
): AnswerOf<'simulateRateCard'> => ({
  ...pageToBody(accounts, (account) => ({
    ...accountToBody(account),
    ...(lines && { lines: linesToBody(account, lines) }),
  })),
  currency,
  usage_as_of: usageAsOf,
  ...(totals && { totals: totalsToBody(totals) }),
})

const accountToBody = ({
  accountId,
  baseline,
  candidate,
  difference,
}: SimulatedAccount): SchemaOf<'SimulatedAccount'> => ({
  account_id: accountId,
  baseline: formatRatio(baseline),
  candidate: formatRatio(candidate),
  difference: formatRatio(difference),
})

function linesToBody(
  { accountId, baselineLines, candidateLines }: RatedAccount,
  shown: ShownLines,
): SchemaOf<'SimulatedLine'>[] {
  const toBody = (side: 'baseline' | 'candidate') => (line: InvoiceLine) => {
    if (line.rate === null) throw new Error('a line of a card has no rate')
    return {
      side,
      ...lineToBody(line, shown.prices, shown.queryOf(accountId, line)),
      rate_id: line.rate.id,
      contract_line_id: line.lineId === NO_CONTRACT_LINE ? null : line.lineId,
    }
  }
  return [...baselineLines.map(toBody('baseline')), ...candidateLines.map(toBody('candidate'))]
}

const totalsToBody = (totals: NonNullable<Simulation['totals']>): SchemaOf<'SimulationTotals'> => ({
  accounts: totals.accounts,
  baseline: formatRatio(totals.baseline),
  candidate: formatRatio(totals.candidate),
  difference: formatRatio(totals.difference),
  increased: totals.increased,
  decreased: totals.decreased,
  unchanged: totals.unchanged,
  quantiles: {
    p5: formatRatio(totals.quantiles.p5),
    p25: formatRatio(totals.quantiles.p25),
    p50: formatRatio(totals.quantiles.p50),
    p75: formatRatio(totals.quantiles.p75),
    p95: formatRatio(totals.quantiles.p95),
  },
  largest: {
    increases: totals.largest.increases.map(accountToBody),
    decreases: totals.largest.decreases.map(accountToBody),
  },
  in_other_currencies: totals.inOtherCurrencies,
})
