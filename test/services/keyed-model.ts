import type { GatewayPoint } from '../../services/gateway/crash-points.ts'
import type { CommitBreak } from './break-commits.ts'

/** What an Idempotency-Key is on its route, as docs/reference/keys.md has it, and with which content. */
export type KeyState = 'free' | `${'begun' | 'done'} with ${number}`

/** How a request with a key is answered; `lost`: nobody was told. */
export type KeyAnswer =
  'done' | 'used before' | 'used before, otherwise' | 'begun otherwise' | 'refused' | 'lost'

/** Where one of the requests of a group crashes: the first that gets there. */
export type Crash = GatewayPoint | CommitBreak

/** Whether a route reports events, which is done in steps, or makes and changes what is in PostgreSQL, in one. */
export type KeyedKind = 'report' | 'change'

/** What is wrong with a request: something that is seen before its key, or after. */
export type Wrong = 'in itself' | 'as things are'

/** A request that was answered. */
export interface KeyedAttempt {
  content: number
  wrong: Wrong | undefined
  answer: KeyAnswer
}

const STEPS: Record<KeyedKind, readonly ('do' | 'begin' | 'complete' | Crash)[]> = {
  report: [
    'gateway-accepted',
    'begin',
    'gateway-keyed',
    'gateway-appending',
    'gateway-appended',
    'complete',
    'gateway-completed',
  ],
  // Another one with the key waits from its beginning to its end.
  change: ['do'],
}

/** Requests at once, in the middle of it. */
interface Moment {
  state: KeyState
  /** Which step each comes to next. */
  next: readonly number[]
  answers: readonly (KeyAnswer | undefined)[]
  crash: Crash | undefined
}

/**
 * What a key may be after requests at once: every order of their steps is tried, and those remain in which each was
 * answered as it was.
 *
 * @param before what it may have been
 * @param crash where the first one crashes that gets there
 */
export function statesAfter(
  kind: KeyedKind,
  before: readonly KeyState[],
  attempts: readonly KeyedAttempt[],
  crash: Crash | undefined,
): KeyState[] {
  const ends = new Set<KeyState>()
  const seen = new Set<string>()
  const go = (moment: Moment): void => {
    const name = JSON.stringify(moment)
    if (seen.has(name)) return
    seen.add(name)
    if (moment.answers.every((answer, of) => answer === attempts[of]?.answer)) ends.add(moment.state)
    for (const [of, attempt] of attempts.entries())
      if (moment.answers[of] === undefined) go(take(kind, moment, attempt, of))
  }
  for (const state of before)
    go({ state, next: attempts.map(() => 0), answers: attempts.map(() => undefined), crash })
  return [...ends]
}

/** One request takes one step. */
function take(kind: KeyedKind, moment: Moment, { content, wrong }: KeyedAttempt, of: number): Moment {
  const { state, next, answers, crash } = moment
  const step = STEPS[kind][next[of] ?? 0]
  const after = (more: Partial<Pick<Moment, 'state' | 'crash'>>, answer?: KeyAnswer): Moment => ({
    ...moment,
    ...more,
    next: next.map((at, which) => (which === of ? at + 1 : at)),
    answers: answers.map((given, which) => (which === of ? answer : given)),
  })
  const usedBefore = (): KeyAnswer =>
    state === `done with ${content}` ? 'used before' : 'used before, otherwise'
  if (step === undefined) return after({}, 'done')
  if (wrong === 'in itself') return after({}, 'refused')
  if (step === 'do') {
    if (state !== 'free') return after({}, usedBefore())
    if (wrong !== undefined) return after({}, 'refused')
    if (crash === 'before commit') return after({ crash: undefined }, 'lost')
    const done: KeyState = `done with ${content}`
    return crash === undefined ? after({ state: done }) : after({ crash: undefined, state: done }, 'lost')
  }
  if (step === 'begin') {
    if (state.startsWith('done')) return after({}, usedBefore())
    if (state !== 'free' && state !== `begun with ${content}`) return after({}, 'begun otherwise')
    return after({ state: `begun with ${content}` })
  }
  if (step === 'complete') return after({ state: `done with ${content}` })
  return step === crash ? after({ crash: undefined }, 'lost') : after({})
}
