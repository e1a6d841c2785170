import { makeUpRequest, SOURCE_NAMES, type SourceName } from './made-up-request.ts'
import { type Random, randomInteger, seededRandom, zipfPicker } from './seeded-random.ts'

/** One event of made-up usage. */
export interface MadeUpEvent {
  /** Which account, from 0. */
  account: number
  source: SourceName
  /** Decimal text. */
  quantity: string
  /** Unix seconds. */
  occurredAt: number
  key: string
  properties: Readonly<Record<string, string>>
  /** It happened long before it is reported. */
  isLate: boolean
  /** It was handed out before, and counts no second time. */
  isDuplicate: boolean
}

export interface MadeUpUsageOptions {
  seed: string
  /** Enters the keys, as the seed does: another run makes other events. */
  run: string
  accounts: number
  /** Zipf's exponent. */
  skew: number
  /** From 0 to 1: how many requests are reported late, and how many events twice. */
  lateShare: number
  duplicateShare: number
  /** How late, at most. */
  lateMaxS: number
}

const LATE_MIN_S = 60
/** A duplicate comes within so many events. */
const DUPLICATE_WITHIN = 2_000

/**
 * Makes up usage without end: requests of accounts of which some are far busier than others, each an event for
 * everything it used. The same options and times give the same events in the same order.
 *
 * @param nowAt what time it is for the next request, in Unix seconds
 */
export function* madeUpUsage(
  options: MadeUpUsageOptions,
  nowAt: () => number,
): Generator<MadeUpEvent, never> {
  const random = seededRandom(options.seed)
  const pickAccount = zipfPicker(options.accounts, options.skew)
  const again = new DuplicateQueue()
  for (let n = 0; ; n++) {
    const isLate = random() < options.lateShare
    const lateS = isLate ? LATE_MIN_S + randomInteger(random, options.lateMaxS) : 0
    const id = `${options.run}.${options.seed}-${n}`
    const request = { id, account: pickAccount(random), occurredAt: nowAt() - lateS, isLate }
    for (const event of eventsOfRequest(request, random)) {
      yield* again.due()
      yield event
      if (random() < options.duplicateShare)
        again.add({ ...event, isDuplicate: true }, 1 + randomInteger(random, DUPLICATE_WITHIN))
    }
  }
}

function eventsOfRequest(
  { id, ...request }: Pick<MadeUpEvent, 'account' | 'occurredAt' | 'isLate'> & { id: string },
  random: Random,
): MadeUpEvent[] {
  const { model, region, quantities } = makeUpRequest(random)
  const properties = { model, region, request_id: id }
  return SOURCE_NAMES.map((source) => {
    const key = `${id}-${source}`
    return { ...request, source, quantity: quantities[source], key, properties, isDuplicate: false }
  })
}

/** Events that come again a while later. */
class DuplicateQueue {
  private readonly byTurn = new Map<number, MadeUpEvent[]>()
  private turn = 0

  add(event: MadeUpEvent, turns: number): void {
    const turn = this.turn + turns
    const events = this.byTurn.get(turn)
    if (events === undefined) this.byTurn.set(turn, [event])
    else events.push(event)
  }

  /** Those whose turn it is now. */
  due(): readonly MadeUpEvent[] {
    const events = this.byTurn.get(++this.turn) ?? []
    this.byTurn.delete(this.turn)
    return events
  }
}
