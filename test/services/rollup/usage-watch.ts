import { expect } from 'chai'
import { type Random, randomInteger } from '../../../clients/reporter/simulate/seeded-random.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { unitsOf } from '../../support/decimal-units.ts'

/** Some usage, and all requests for it. */
export interface Watched {
  name: string
  /** Whether an event is in the answer. */
  isMeant: (event: UsageEvent) => boolean
  /** The relative frequency of its requests. */
  weight: number
  /** Requests that return the sum as decimal text, and the count if the answer has it. */
  asks: readonly (() => Promise<Answer>)[]
}

interface Answer {
  sum: string
  count?: bigint
  /** Whether the answer comes from the events. */
  isRaw?: boolean
}

interface Tally {
  units: bigint
  count: bigint
}

interface Watch {
  of: Watched
  sent: Tally
  stored: Tally
  seen: Tally
}

/**
 * Checks answers while positive usage arrives. An answer must never fall, exceed the sent usage, or lack usage that was
 * stored before the request.
 */
export class UsageWatch {
  /** Through rollups. */
  reads = 0
  private readonly watched: Watch[]
  private readonly sent = new Map<string, UsageEvent>()
  private readonly stored = new Set<string>()

  private readonly byWeight: number[]

  constructor(watched: readonly Watched[]) {
    const zero = () => ({ units: 0n, count: 0n })
    this.watched = watched.map((of) => ({ of, sent: zero(), stored: zero(), seen: zero() }))
    this.byWeight = watched.flatMap(({ weight }, place) => Array<number>(weight).fill(place))
  }

  /** Called before events are stored. */
  noteSent(events: readonly UsageEvent[]): void {
    for (const event of events) {
      if (this.sent.has(event.id)) continue
      this.sent.set(event.id, event)
      for (const { of, sent } of this.watched) if (of.isMeant(event)) add(sent, event)
    }
  }

  /** Called after events are stored. */
  noteStored(events: readonly UsageEvent[]): void {
    for (const event of events) {
      if (this.stored.has(event.id)) continue
      this.stored.add(event.id)
      for (const { of, stored } of this.watched) if (of.isMeant(event)) add(stored, event)
    }
  }

  get events(): number {
    return this.sent.size
  }

  /** Sends a random request. @throws AssertionError when the answer cannot be */
  async read(random: Random): Promise<void> {
    const watched = this.watched[this.byWeight[randomInteger(random, this.byWeight.length)] ?? 0]
    const ask = watched?.of.asks[randomInteger(random, watched.of.asks.length)]
    if (watched === undefined || ask === undefined) throw new Error('there is nothing to ask for')
    await this.ask(watched, ask)
  }

  /** Sends all requests. */
  async readAll(): Promise<void> {
    for (const watched of this.watched) for (const ask of watched.of.asks) await this.ask(watched, ask)
  }

  private async ask(watched: Watch, ask: Watched['asks'][number]): Promise<void> {
    const { of, sent, stored, seen } = watched
    const before = { stored: { ...stored }, seen: { ...seen } }
    const answer = await ask()
    if (answer.isRaw !== true) this.reads++
    const [units, count] = [unitsOf(answer.sum), answer.count]
    const check = (what: string, holds: boolean, than: bigint) => {
      const shown = `${of.name} ${what}: ${units} units in ${String(count)} events, against ${than}, in read ${this.reads}`
      expect(holds, shown).to.equal(true)
    }
    check('fell', units >= before.seen.units, before.seen.units)
    check('lacks what was stored before', units >= before.stored.units, before.stored.units)
    check('ran ahead of what was sent', units <= sent.units, sent.units)
    if (units > seen.units) seen.units = units
    if (count === undefined) return
    check('fell, by events', count >= before.seen.count, before.seen.count)
    check('lacks stored events', count >= before.stored.count, before.stored.count)
    check('ran ahead, by events', count <= sent.count, sent.count)
    if (count > seen.count) seen.count = count
  }
}

function add(tally: Tally, { quantity }: UsageEvent): void {
  tally.units += unitsOf(quantity)
  tally.count++
}
