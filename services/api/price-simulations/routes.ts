import { invoiceLineQuery } from '../../../shared/clickhouse/usage/invoice-line-query.ts'
import { type Operation, operation } from '../../../shared/http/operation.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { simulateCard, type Simulation, type SimulationDeps } from './simulate-card.ts'
import { type ShownLines, simulationFromBody, simulationToBody } from './simulation-body.ts'

/** The operation that simulates what accounts would owe under a rate card. */
export function simulationOperations(deps: SimulationDeps): Operation[] {
  const simulate = simulateCard(deps)
  return [
    operation(
      'simulateRateCard',
      async ({ caller: { namespaceId }, params, body, now, signal }) => {
        const request = simulationFromBody(params.rate_card_id, body)
        const made = await simulate(namespaceId, request, now, signal())
        const lines = body.include_lines ? await shownLines(deps.pool, namespaceId, made) : undefined
        return simulationToBody(made, lines)
      },
      { isLong: 'alone' },
    ),
  ]
}

async function shownLines(pool: Pool, namespaceId: string, { accounts }: Simulation): Promise<ShownLines> {
  const lines = accounts.items.flatMap(({ baselineLines, candidateLines }) => [
    ...baselineLines,
    ...candidateLines,
  ])
  const ids = [...new Set(lines.map(({ price }) => price.id))]
  const prices = await inNamespace(pool, namespaceId, (db) => priceRepository(db).listByIds(namespaceId, ids))
  return {
    prices: new Map(prices.map((price) => [price.id, price])),
    queryOf: (accountId, line) => invoiceLineQuery({ namespaceId, accountId }, line, line.endAt) ?? null,
  }
}
