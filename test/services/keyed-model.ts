import type { GatewayPoint } from '../../services/gateway/crash-points.ts'
import type { CommitBreak } from './break-commits.ts'

/** The state of an Idempotency-Key on its route (docs/reference/keys.md), with the number of its content. */
export type KeyState = 'free' | `${'begun' | 'done'} with ${number}`

/** The answer to a request with a key; `lost` means that no answer arrived. */
export type KeyAnswer =
  'done' | 'used before' | 'used before, otherwise' | 'begun otherwise' | 'refused' | 'lost'

/** The crash point of the first request of a group that reaches it. */
export type Crash = GatewayPoint | CommitBreak

/** Whether a route reports events, in several steps, or changes rows of PostgreSQL, in one step. */
export type KeyedKind = 'report' | 'change'

/** The error of a request: one that is found before its key is read, or one that is found after. */
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
  // Another request with the key waits until this one has ended.
  change: ['do'],
}

/** A state during concurrent requests. */
interface Moment {
  state: KeyState
  /** The next step of each request. */
  next: readonly number[]
  answers: readonly (KeyAnswer | undefined)[]
  crash: Crash | undefined
}

/**
 * Computes the possible states of a key after concurrent requests. It tries every order of their steps, and keeps the
 * orders that give the real answers.
 *
 * @param before the possible states before
 * @param crash the crash point of the first request that reaches it
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

/** Runs one step of one request. */
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
