import type { Fault, LookUpOutcome, Outcome } from '../../../../clients/sdk/src/reporter/core/outcome.ts'
import {
  type Batch,
  type CoreOptions,
  type QueuedEvent,
  ReporterCore,
} from '../../../../clients/sdk/src/reporter/core/reporter-core.ts'
import { type PlainReporter, plainReporter, type SetAside } from './plain-reporter.ts'

/** A call of the core, with what it must return. `clients/vectors/README.md` describes each. */
export type Step =
  | ['add', number, number, number, readonly string[], number | null, boolean]
  | ['flush', number]
  | ['look-up', number, string | null]
  | ['looked-up', number, string, LookUpOutcome, number, SetAside[]]
  | ['batch', number, readonly number[] | null, number]
  | ['answer', number, number, Outcome, number, number, SetAside[]]
  | ['expire', number, readonly number[]]
  | ['wake', number, number | null, string, number, number, number]

export interface History {
  options: CoreOptions
  steps: Step[]
}

/** Random numbers that are the same on every machine. */
type Dice = (sides: number) => number

/** mulberry32 */
function diceOf(seed: number): Dice {
  let state = seed >>> 0
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides
  }
}

const pick = <T>(dice: Dice, values: readonly [T, ...T[]]): T => values[dice(values.length)] ?? values[0]

/** A history while it is made. */
interface Making {
  dice: Dice
  plain: PlainReporter
  steps: Step[]
  now: number
  events: number
  /** The numbers of batches under way, counted from 0 in the order in which they were taken. */
  taken: Map<number, number>
  batches: number
}

/** Makes a random history. What its steps return is what the plain reporter returns. */
export function makeHistory(seed: number, length: number): History {
  const dice = diceOf(seed)
  const options: CoreOptions = {
    batchEvents: pick(dice, [1, 2, 3, 5]),
    batchBytes: pick(dice, [50, 100, 300]),
    lingerMs: pick(dice, [0, 50, 200]),
    inFlight: pick(dice, [1, 2, 3]),
    queueEvents: pick(dice, [4, 8, 20]),
    queueBytes: pick(dice, [120, 400, 2_000]),
    ...(dice(3) === 0 && { gate: 'company' }),
  }
  const plain = plainReporter(options)
  const making: Making = { dice, plain, steps: [], now: 1_000, events: 0, taken: new Map(), batches: 0 }
  while (making.steps.length < length) {
    making.now = later(making)
    const [first, ...others] = DOINGS
    pick(dice, [first, ...others])(making)
    if (making.steps.length > 0 && dice(4) === 0) making.steps.push(wakeOf(making))
  }
  return { options, steps: making.steps }
}

function later({ dice, plain, now }: Making): number {
  const wakeAt = plain.nextWakeAt(now)
  if (wakeAt !== null && dice(3) === 0) return wakeAt
  return now + pick(dice, [0, 0, 1, 10, 60, 250])
}

function wakeOf({ plain, now }: Making): Step {
  const { state, events, bytes, held } = plain.facts()
  return ['wake', now, plain.nextWakeAt(now), state, events, bytes, held]
}

function addSome(making: Making): void {
  const { dice, plain, steps, now } = making
  for (let left = 1 + dice(4); left > 0; left--) {
    const n = making.events++
    const bytes = 10 + dice(60)
    const needs = pick(dice, NEEDS)
    const giveUpAt = dice(3) === 0 ? now + pick(dice, [100, 1_000, 40_000]) : null
    steps.push(['add', now, n, bytes, needs, giveUpAt, plain.add(n, bytes, needs, giveUpAt, now)])
  }
}

const NEEDS: readonly [readonly string[], ...(readonly string[])[]] = [
  [],
  [],
  [],
  [],
  ['account:a'],
  ['metric:m'],
  ['account:b', 'metric:m'],
]

function flush({ dice, plain, steps, now }: Making): void {
  if (dice(4) !== 0) return
  plain.flush(now)
  steps.push(['flush', now])
}

function expire({ dice, plain, steps, now }: Making): void {
  if (dice(2) === 0) steps.push(['expire', now, plain.expire(now)])
}

function takeBatch(making: Making): void {
  const { plain, steps, now } = making
  const next = plain.nextBatch(now)
  steps.push(['batch', now, next?.events ?? null, next?.attempt ?? 0])
  if (next !== null) making.taken.set(next.batch, making.batches++)
}

function takeLookUp({ plain, steps, now }: Making): void {
  steps.push(['look-up', now, plain.nextLookUp(now)])
}

const failing = (dice: Dice) => ({
  kind: 'failing' as const,
  text: '503',
  retryAfterMs: pick(dice, [0, 0, 0, 1_000, 7_000_000]),
})
const blocked = (dice: Dice) => ({ kind: 'blocked' as const, text: pick(dice, ['401', '404']) })

function answerLookUp({ dice, plain, steps, now }: Making): void {
  const [name] = plain.underWay().names
  if (name === undefined) return
  const outcome = pick<() => LookUpOutcome>(dice, [
    () => ({ kind: 'found', id: `id of ${name}` }),
    () => ({ kind: 'found', id: `id of ${name}` }),
    () => ({ kind: 'missing', text: 'missing' }),
    () => failing(dice),
    () => blocked(dice),
  ])()
  const random = dice(1_024) / 1_024
  steps.push(['looked-up', now, name, outcome, random, plain.lookedUp(name, outcome, now, random)])
}

function answerBatch({ dice, plain, steps, now, taken }: Making): void {
  const { batches } = plain.underWay()
  const batch = batches[dice(Math.max(batches.length, 1))]
  if (batch === undefined) return
  const size = plain.sizeOf(batch)
  const outcome = pick<() => Outcome>(dice, [
    () => ({ kind: 'accepted' }),
    () => ({ kind: 'accepted' }),
    () => failing(dice),
    () => failing(dice),
    () => blocked(dice),
    () => ({ kind: 'refused', text: '413', faults: [] }),
    () => ({ kind: 'refused', text: '422', faults: someFaults(dice, size) }),
    () => ({ kind: 'refused', text: '422', faults: someFaults(dice, size) }),
  ])()
  const random = dice(1_024) / 1_024
  const { accepted, setAside } = plain.answered(batch, outcome, now, random)
  steps.push(['answer', now, taken.get(batch) ?? -1, outcome, random, accepted.length, setAside])
}

/** Some of them name an event that the batch does not have. */
function someFaults(dice: Dice, size: number): Fault[] {
  return Array.from({ length: 1 + dice(2) }, () => {
    const index = dice(size + 1)
    const aheadMs = pick(dice, [0, 0, 400, 90_000_000])
    return { index, reason: `fault ${index}`, ...(aheadMs > 0 && { aheadMs }) }
  })
}

const DOINGS: readonly [(making: Making) => void, ...((making: Making) => void)[]] = [
  addSome,
  addSome,
  flush,
  expire,
  takeLookUp,
  takeBatch,
  takeBatch,
  answerLookUp,
  answerBatch,
  answerBatch,
]

interface Numbered extends QueuedEvent {
  n: number
}

/** Replays a history. @returns the steps as the core answers them, which must be those of the history */
export function replay({ options, steps }: History): Step[] {
  const core = new ReporterCore<Numbered>(options)
  const batches: Batch<Numbered>[] = []
  return steps.map((step) => replayStep(core, batches, step))
}

const numbersOf = (setAside: readonly { event: Numbered; reason: string }[]) =>
  setAside.map(({ event, reason }): SetAside => [event.n, reason])

function replayStep(core: ReporterCore<Numbered>, batches: Batch<Numbered>[], step: Step): Step {
  const [, now] = step
  switch (step[0]) {
    case 'add': {
      const [kind, , n, bytes, needs, giveUpAt] = step
      const event: Numbered = { n, bytes, needs, addedAt: now, ...(giveUpAt !== null && { giveUpAt }) }
      return [kind, now, n, bytes, needs, giveUpAt, core.add(event)]
    }
    case 'flush':
      core.flush(now)
      return step
    case 'look-up':
      return ['look-up', now, core.nextLookUp(now) ?? null]
    case 'looked-up': {
      const [kind, , name, outcome, random] = step
      const { setAside } = core.lookedUp(name, outcome, now, random)
      return [kind, now, name, outcome, random, numbersOf(setAside)]
    }
    case 'batch': {
      const batch = core.nextBatch(now)
      if (batch !== undefined) batches.push(batch)
      return ['batch', now, batch?.events.map(({ n }) => n) ?? null, batch?.attempt ?? 0]
    }
    case 'answer': {
      const [kind, , number, outcome, random] = step
      const batch = batches[number]
      if (batch === undefined) throw new Error(`there is no batch ${number}`)
      const { accepted, setAside } = core.answered(batch, outcome, now, random)
      return [kind, now, number, outcome, random, accepted.length, numbersOf(setAside)]
    }
    case 'expire':
      return [
        'expire',
        now,
        core
          .expire(now)
          .map(({ n }) => n)
          .sort((a, b) => a - b),
      ]
    case 'wake':
      return ['wake', now, core.nextWakeAt(now) ?? null, core.state, core.events, core.bytes, core.heldEvents]
  }
}
