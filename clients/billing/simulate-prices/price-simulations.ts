import { StartupError } from '../../../shared/errors/startup-error.ts'
import type { SchemaOf } from '../../contract.ts'
import type { Ask } from '../../core/ask.ts'
import { BadRequestError, type Body, NotFoundError, UnprocessableError } from '../../sdk/src/node.ts'

/** The fields of a rate card that are shown. */
export type CardName = Pick<SchemaOf<'RateCard'>, 'id' | 'name'>

const CARD_ID = /^rate_card_[0-9a-f]{32}$/

/**
 * The operations that a simulation needs.
 * @throws the errors of Ask, and StartupError when Tally refuses
 */
export const priceSimulations = (ask: Ask) => ({
  /**
   * Finds a rate card.
   * @param card its id or its external id
   * @param option the option that names the card, for the error
   */
  async findCard(card: string, option: string): Promise<CardName> {
    const found = CARD_ID.test(card)
      ? await refusals(ask((tally) => tally.rateCards.get(card))).catch((err: unknown) => {
          if (!NotFoundError.is(err)) throw err
        })
      : (await refusals(ask((tally) => tally.rateCards.list({ external_id: card })))).data[0]
    if (found === undefined) throw noSuchCard(card, option)
    return found
  },

  simulate: (cardId: string, body: Body<'simulateRateCard'>): Promise<SchemaOf<'Simulation'>> =>
    refusals(ask((tally) => tally.rateCards.simulate(cardId, body))),
})

const noSuchCard = (card: string, option: string): StartupError =>
  new StartupError(`--${option}: there is no rate card with the id or external_id ${JSON.stringify(card)}`)

/** @throws StartupError when Tally refuses the content of a request */
const refusals = <T>(asked: Promise<T>): Promise<T> =>
  asked.catch((err: unknown) => {
    const why = BadRequestError.is(err) || UnprocessableError.is(err) ? err.text : undefined
    if (why !== undefined) throw new StartupError(`Tally refuses this: ${why}`)
    // The SDK refuses amounts that lost digits when they became numbers.
    if (err instanceof TypeError) throw new StartupError(`--changes: ${err.message}`)
    throw err
  })
