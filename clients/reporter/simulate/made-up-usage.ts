import { makeUpRequest, SOURCE_NAMES, type SourceName } from './made-up-request.ts'
import { type Random, randomInteger, seededRandom, zipfPicker } from './seeded-random.ts'

/** One event of made-up usage. */
export interface MadeUpEvent {
  /** The index of its account, from 0. */
  account: number
  source: SourceName
  /** Decimal text. */
  quantity: string
  /** Unix seconds. */
  occurredAt: number
  key: string
  properties: Readonly<Record<string, string>>
  /** Whether the event happened long before it is reported. */
  isLate: boolean
  /** Whether the event is a repetition, which must not count again. */
  isDuplicate: boolean
}

export interface MadeUpUsageOptions {
  seed: string
  /** A part of the keys, like the seed. So another run makes other events. */
  run: string
  accounts: number
  /** The exponent of Zipf's law. */
  skew: number
  /** From 0 to 1: the share of requests that are reported late, and of events that are reported twice. */
  lateShare: number
  duplicateShare: number
  /** A late request is reported LATE_MIN_S after it happened, and up to this many seconds later. */
  lateMaxS: number
}

const LATE_MIN_S = 60

/** Returns the earliest time that an event can have when usage is made up from `startAt` on. Both are Unix seconds. */
export const earliestEventAt = (
  startAt: number,
  { lateShare, lateMaxS }: Pick<MadeUpUsageOptions, 'lateShare' | 'lateMaxS'>,
): number => startAt - (lateShare > 0 ? LATE_MIN_S + lateMaxS : 0)

/** A duplicate follows within this many events. */
const DUPLICATE_WITHIN = 2_000

/**
 * Makes up usage without end: requests of accounts, some of which are far busier than others. A request makes an event
 * for each thing that it used. The same options and times give the same events in the same order.
 *
 * @param nowAt returns the time of the next request, in Unix seconds
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

/** Events that are repeated a while later. */
class DuplicateQueue {
  private readonly byTurn = new Map<number, MadeUpEvent[]>()
  private turn = 0

  add(event: MadeUpEvent, turns: number): void {
    const turn = this.turn + turns
    const events = this.byTurn.get(turn)
    if (events === undefined) this.byTurn.set(turn, [event])
    else events.push(event)
  }

  /** Returns the events that have to be repeated now. */
  due(): readonly MadeUpEvent[] {
    const events = this.byTurn.get(++this.turn) ?? []
    this.byTurn.delete(this.turn)
    return events
  }
}
