import { useClient } from '../../api/client.ts'
import { rateCardListing } from '../../api/queries/catalogue.ts'
import type { SimulationBody } from '../../api/queries/prices.ts'
import { useReadAll } from '../../api/use-read.ts'
import { visibleText } from '../../format/visible-text.ts'

/** What the two sides of a simulation are called. */
export interface Sides {
  baseline: string
  candidate: string
}

/** Names the sides by what was asked for. */
export function useSides({ against, changes }: SimulationBody): Sides {
  const cards = useReadAll(rateCardListing(useClient())).data
  const nameOf = (id: string) => cards?.find((card) => card.id === id)?.name ?? id
  return {
    baseline: baselineWords(against ?? 'contracts', nameOf),
    candidate: changes == null ? 'By this card' : 'After the change',
  }
}

function baselineWords(against: string, nameOf: (cardId: string) => string): string {
  if (against === 'contracts') return 'Now'
  return against === 'none' ? 'Nothing' : `By card ${visibleText(shortened(nameOf(against)))}`
}

const NAME_MAX = 40

/** A heading has no room for the longest names. By characters: half of an emoji would be nothing. */
function shortened(name: string): string {
  const characters = Array.from(name)
  return characters.length <= NAME_MAX ? name : `${characters.slice(0, NAME_MAX).join('')}…`
}
