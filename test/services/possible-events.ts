/** The state of an event; undefined before its report. */
export interface EventState {
  quantity: string
  properties: Record<string, unknown>
  voided: boolean
}

/** An operation on one event, with its outcome. */
export interface EventOperation {
  kind: 'report' | 'change' | 'void'
  quantity?: string
  properties?: Record<string, unknown>
  /** 202 or the status of the refusal; 'not done' if a batch was refused because of another event. */
  outcome: 202 | 404 | 409 | 'not done'
  /** The event in the answer, if there is one. */
  answer?: EventState
}

type Possible = EventState | undefined

/**
 * Computes the possible states of an event after concurrent operations. It tries every order of the operations of a
 * group, and keeps the orders in which each answer is right.
 *
 * @param groups operations of a group run at once, groups one after the other
 */
export function possibleStates(groups: readonly (readonly EventOperation[])[]): Possible[] {
  let states: Possible[] = [undefined]
  for (const group of groups) {
    const after = new Map<string, Possible>()
    for (const before of states)
      for (const order of ordersOf(group)) {
        const state = inOrder(before, order)
        if (state !== IMPOSSIBLE) after.set(JSON.stringify(state ?? null), state)
      }
    states = [...after.values()]
  }
  return states
}

const IMPOSSIBLE = Symbol('impossible')

function inOrder(before: Possible, operations: readonly EventOperation[]): Possible | typeof IMPOSSIBLE {
  let state = before
  for (const operation of operations) {
    const after = follow(state, operation)
    if (after === IMPOSSIBLE) return IMPOSSIBLE
    state = after
  }
  return state
}

/** The state after an operation, if its answer can be right. */
function follow(
  state: Possible,
  { kind, quantity, properties, outcome, answer }: EventOperation,
): Possible | typeof IMPOSSIBLE {
  if (outcome === 'not done') return state
  if (kind === 'report')
    return outcome === 202
      ? (state ?? { quantity: quantity ?? '', properties: properties ?? {}, voided: false })
      : IMPOSSIBLE
  if (state === undefined) return outcome === 404 ? state : IMPOSSIBLE
  if (kind === 'change' && state.voided) return outcome === 409 ? state : IMPOSSIBLE
  const after =
    kind === 'void'
      ? { ...state, voided: true }
      : {
          ...state,
          ...(quantity === undefined ? {} : { quantity }),
          ...(properties === undefined ? {} : { properties }),
        }
  const isRight = outcome === 202 && (answer === undefined || isEqual(answer, after))
  return isRight ? after : IMPOSSIBLE
}

export const isEqual = (a: EventState, b: EventState): boolean =>
  a.quantity === b.quantity &&
  a.voided === b.voided &&
  JSON.stringify(sorted(a.properties)) === JSON.stringify(sorted(b.properties))

const sorted = (properties: Record<string, unknown>) =>
  Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1))

function* ordersOf<T>(items: readonly T[]): Generator<T[]> {
  if (items.length === 0) yield []
  for (const [n, item] of items.entries())
    for (const rest of ordersOf(items.filter((_, other) => other !== n))) yield [item, ...rest]
}
