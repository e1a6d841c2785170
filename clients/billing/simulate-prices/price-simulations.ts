import { StartupError } from '../../../shared/errors/startup-error.ts'
import type { SchemaOf } from '../../contract.ts'
import type { HttpAnswer, HttpRequest } from '../../core/http-sender.ts'
import type { Ask } from '../../core/reporting-client.ts'

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
    if (CARD_ID.test(card)) {
      const request: HttpRequest = { method: 'GET', path: `/v2/rate-cards/${card}` }
      const answer = await ask(request)
      if (answer.status === 404) throw noSuchCard(card, option)
      return bodyOf(request, answer) as SchemaOf<'RateCard'>
    }
    const request: HttpRequest = {
      method: 'GET',
      path: `/v2/rate-cards?external_id=${encodeURIComponent(card)}`,
    }
    const [found] = (bodyOf(request, await ask(request)) as SchemaOf<'RateCardPage'>).data
    if (found === undefined) throw noSuchCard(card, option)
    return found
  },

  async simulate(cardId: string, body: object): Promise<SchemaOf<'Simulation'>> {
    const path = `/v2/rate-cards/${cardId}/simulate`
    const request: HttpRequest = { method: 'POST', path, body: JSON.stringify(body) }
    return bodyOf(request, await ask(request)) as SchemaOf<'Simulation'>
  },
})

const noSuchCard = (card: string, option: string): StartupError =>
  new StartupError(`--${option}: there is no rate card with the id or external_id ${JSON.stringify(card)}`)

function bodyOf({ method, path }: HttpRequest, { status, text }: HttpAnswer): unknown {
  if (status === 400 || status === 422) throw new StartupError(`Tally refuses this: ${text}`)
  if (status !== 200)
    throw new StartupError(`${method} ${path} was answered with ${status}: is this the URL of a Tally?`)
  try {
    return JSON.parse(text)
  } catch (err) {
    throw new StartupError('an answer was not JSON: is this the URL of a Tally?', { cause: err })
  }
}
