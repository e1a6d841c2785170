import { expect } from 'chai'
import { type Random, randomInteger } from '../../../clients/reporter/simulate/seeded-random.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { unitsOf } from '../../support/decimal-units.ts'

/** Some usage, and every way to ask for it. */
export interface Watched {
  name: string
  /** Whether an event is in the answer. */
  isMeant: (event: UsageEvent) => boolean
  /** How often it is asked for, beside others. */
  weight: number
  /** Each gives the sum as decimal text, and the count where it is told. */
  asks: readonly (() => Promise<Answer>)[]
}

interface Answer {
  sum: string
  count?: bigint
  /** Whether it was asked of the events themselves. */
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
 * Watches answers while usage comes in, all of it positive: none may ever fall, run ahead of what was sent, or lack
 * what was stored before it was asked for.
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

  /** Before events are stored. */
  noteSent(events: readonly UsageEvent[]): void {
    for (const event of events) {
      if (this.sent.has(event.id)) continue
      this.sent.set(event.id, event)
      for (const { of, sent } of this.watched) if (of.isMeant(event)) add(sent, event)
    }
  }

  /** After they are. */
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

  /** Asks for anything. @throws AssertionError when the answer cannot be */
  async read(random: Random): Promise<void> {
    const watched = this.watched[this.byWeight[randomInteger(random, this.byWeight.length)] ?? 0]
    const ask = watched?.of.asks[randomInteger(random, watched.of.asks.length)]
    if (watched === undefined || ask === undefined) throw new Error('there is nothing to ask for')
    await this.ask(watched, ask)
  }

  /** Asks for everything, in every way. */
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
