import type { Request, RequestHandler } from 'express'
import { usageLineQuery } from '../../../shared/clickhouse/usage/usage-line-query.ts'
import { parseBillingCurrency } from '../../../shared/domain/billing/billing-currency.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { goneSignal } from '../../../shared/http/gone-signal.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { rateCardRepository, type RateCardChanges } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../core/create.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { cardWithRatesToBody, rateCardToBody, rateToBody } from './body.ts'
import { changeCard, type CardChangeBody } from './change-card.ts'
import { changeOne } from '../core/change-one.ts'
import { changeOnce } from '../core/change-once.ts'
import { nowIn } from '../core/now-in.ts'
import { pageOfQuery } from '../core/page-query.ts'
import { requestedRates, requirePossible, type NewRateBody } from './requested-rates.ts'
import { requireCard } from './require-card.ts'
import { simulateCard, type Simulation, type SimulationDeps } from './simulate-card.ts'
import {
  simulationFromBody,
  simulationToBody,
  type ShownLines,
  type SimulationRequestBody,
} from './simulation-body.ts'
import { withRates } from './with-rates.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf, longHandlerOf } from '../core/handler-of.ts'

/** Rate cards: which usage is measured how, and which price it feeds. */
export const rateCardHandlers = (pool: Pool, create: Create, simulation: SimulationDeps): Handlers => ({
  createRateCard: handlerOf(postRateCard(create)),
  listRateCards: handlerOf(listRateCards(pool)),
  getRateCard: handlerOf(getRateCard(pool)),
  updateRateCard: handlerOf(patchRateCard(pool)),
  archiveRateCard: handlerOf(archiveRateCard(pool)),
  unarchiveRateCard: handlerOf(unarchiveRateCard(pool)),
  listRates: handlerOf(listRates(pool)),
  changeRateCard: handlerOf(postChange(create)),
  simulateRateCard: longHandlerOf('alone', postSimulation(simulation)),
})

interface NewRateCardBody {
  name: string
  currency: string
  description?: string
  external_id?: string
  rates: NewRateBody[]
}

/** When rates start that a card is made with. */
const FROM_THE_BEGINNING = 0

function postRateCard(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewRateCardBody // with the defaults of openapi.yaml filled in
    const now = nowIn(res)
    const card = {
      id: newId('rate_card'),
      name: body.name,
      currency: parseBillingCurrency(body.currency),
      description: body.description ?? null,
      externalId: body.external_id ?? null,
    }
    const requested = requestedRates('rates', body.rates, FROM_THE_BEGINNING)
    const made = await create(
      callerOf(res),
      {
        route: 'POST /v2/rate-cards',
        key: idempotencyKeyOf(req),
        action: 'rate_card.created',
        changes: body,
        idOf,
      },
      async (db, namespaceId) => {
        await requirePossible(db, namespaceId, requested, card.currency)
        requireCard(requested.rates, requested, now)
        const inserted = await rateCardRepository(db).insert(namespaceId, card)
        await rateRepository(db).insert(namespaceId, card.id, requested.rates)
        return withRates(db, namespaceId, inserted, now)
      },
    )
    res.json(cardWithRatesToBody(made))
  }
}

function listRateCards(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const { external_id: externalId } = req.query as { external_id?: string }
    const page = await inNamespace(pool, namespaceId, (db) =>
      rateCardRepository(db).list(namespaceId, externalId, pageOfQuery(req)),
    )
    res.json(pageToBody(page, rateCardToBody))
  }
}

type OfRateCard = Request<{ rate_card_id: string }>

const getRateCard = (pool: Pool) =>
  answerOne(pool, cardWithRatesToBody, async (db, namespaceId, { params }: OfRateCard, res) =>
    withRates(
      db,
      namespaceId,
      await rateCardRepository(db).find(namespaceId, params.rate_card_id),
      nowIn(res),
    ),
  )

const patchRateCard = (pool: Pool) =>
  changeOne(pool, {
    action: 'rate_card.changed',
    toBody: cardWithRatesToBody,
    work: async (db, namespaceId, { params, body }: OfRateCard, res) => {
      const changes = changesOf(body as RateCardChangesBody)
      const card = await rateCardRepository(db).update(namespaceId, params.rate_card_id, changes)
      return withRates(db, namespaceId, card, nowIn(res))
    },
  })

interface RateCardChangesBody {
  name?: string
  description?: string | null
  external_id?: string | null
}

const changesOf = (body: RateCardChangesBody): RateCardChanges => ({
  name: body.name,
  description: body.description,
  externalId: body.external_id,
})

const archiveRateCard = (pool: Pool) =>
  changeOne(pool, {
    action: 'rate_card.archived',
    toBody: cardWithRatesToBody,
    work: async (db, namespaceId, { params }: OfRateCard, res) => {
      const card = await rateCardRepository(db).archive(namespaceId, params.rate_card_id)
      return withRates(db, namespaceId, card, nowIn(res))
    },
  })

const unarchiveRateCard = (pool: Pool) =>
  changeOne(pool, {
    action: 'rate_card.unarchived',
    toBody: cardWithRatesToBody,
    work: async (db, namespaceId, { params }: OfRateCard, res) => {
      const card = await rateCardRepository(db).unarchive(namespaceId, params.rate_card_id)
      return withRates(db, namespaceId, card, nowIn(res))
    },
  })

function listRates(pool: Pool): RequestHandler<OfRateCard['params']> {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const { rate_card_id: rateCardId } = req.params
    const { at } = req.query as unknown as { at?: number }
    const page = await inNamespace(pool, namespaceId, async (db) => {
      if ((await rateCardRepository(db).find(namespaceId, rateCardId)) === undefined) throw noSuchCard()
      return rateRepository(db).list(namespaceId, rateCardId, at, pageOfQuery(req))
    })
    res.json(pageToBody(page, rateToBody))
  }
}

const noSuchCard = () => new DomainError('not_found', 'no such rate card')

const postChange = (create: Create) =>
  changeOnce(create, {
    route: 'POST /v2/rate-cards/{rate_card_id}/changes',
    action: 'rate_card.changed',
    toBody: cardWithRatesToBody,
    // With the defaults of openapi.yaml filled in.
    work: async (db, namespaceId, { params, body }: OfRateCard, now) =>
      changeCard(db, namespaceId, params.rate_card_id, body as CardChangeBody, now),
  })

function postSimulation(deps: SimulationDeps): RequestHandler<OfRateCard['params']> {
  const simulate = simulateCard(deps)
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const body = req.body as SimulationRequestBody // with the defaults of openapi.yaml filled in
    const request = simulationFromBody(req.params.rate_card_id, body)
    const made = await simulate(namespaceId, request, nowIn(res), goneSignal(res))
    const lines = body.include_lines ? await shownLines(deps.pool, namespaceId, made) : undefined
    res.json(simulationToBody(made, lines))
  }
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
    queryOf: (accountId, line) => usageLineQuery({ namespaceId, accountId }, line, line.endAt) ?? null,
  }
}
