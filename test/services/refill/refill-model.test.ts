import { expect } from 'chai'
import fc from 'fast-check'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { textOf, unitsOf } from '../../support/decimal-units.ts'
import { timesIn } from '../../support/layout.ts'
import { makeRefillWorld, type RefillWorld } from '../../support/refill-world.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'

/** A change of a balance. Numbers select one of the existing resources. */
type Step =
  | { kind: 'use'; quantity: string; late: boolean }
  | { kind: 'correct'; pick: number; quantity: string }
  | { kind: 'void usage'; pick: number }
  | { kind: 'grant'; amount: string; inS: number; forS: number | undefined }
  | { kind: 'end grant'; pick: number; how: 'void' | 'archive' }
  | { kind: 'pass'; seconds: number }
  | { kind: 'pause'; isActive: boolean }
  | { kind: 'move'; minimum: string; above: string }
  | { kind: 'archive'; what: 'accounts' | 'metrics'; isArchived: boolean }

const amount = fc
  .tuple(
    fc.integer({ min: -20, max: 80 }),
    fc.constantFrom('', '.5', '.000000000000000001', '.999999999999999999'),
  )
  .map(([whole, fraction]) => `${whole}${fraction}`)
const pick = fc.nat({ max: 50 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('use'), quantity: amount, late: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('correct'), pick, quantity: amount }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('void usage'), pick }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('grant'),
      amount,
      inS: fc.integer({ min: -5, max: 50 }),
      forS: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('end grant'), pick, how: fc.constantFrom('void', 'archive') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass'), seconds: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause'), isActive: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('move'),
      minimum: amount,
      above: fc.constantFrom('1', '40.25'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('archive'),
      what: fc.constantFrom('accounts', 'metrics'),
      isArchived: fc.boolean(),
    }),
  },
)

interface ModelGrant {
  id: string
  amount: bigint
  from: number
  until: number
  isEnded: boolean
}

interface Model {
  now: number
  usage: { event: UsageEvent; units: bigint }[]
  grants: ModelGrant[]
  minimum: bigint
  target: bigint
  isActive: boolean
  archived: Set<string>
  /** The amounts of the refills that are due, in order. */
  refills: string[]
}

const balanceOf = ({ now, usage, grants }: Model): bigint =>
  grants
    .filter((grant) => !grant.isEnded && grant.from <= now && now < grant.until)
    .reduce((sum, grant) => sum + grant.amount, 0n) - usage.reduce((sum, { units }) => sum + units, 0n)

async function carryOut(step: Step, world: RefillWorld, model: Model): Promise<void> {
  switch (step.kind) {
    case 'use': {
      const occurredAt = step.late ? 1_600_000_000 : model.now
      const [event] = await world.store({ source: world.metric, quantity: step.quantity, occurredAt })
      model.usage.push({ event: event as UsageEvent, units: unitsOf(step.quantity) })
      return
    }
    case 'correct':
    case 'void usage': {
      const used = model.usage[step.pick % model.usage.length]
      if (used === undefined || used.event.voided) return
      const change = step.kind === 'correct' ? { quantity: step.quantity } : { voided: true }
      used.event = await world.correct(used.event, change)
      used.units = step.kind === 'correct' ? unitsOf(step.quantity) : 0n
      return
    }
    case 'grant': {
      const from = model.now + step.inS
      const until = step.forS === undefined ? Infinity : from + step.forS
      const expiry = step.forS === undefined ? {} : { expires_at: until }
      const id = await world.grantMetric({ amount: step.amount, effective_at: from, ...expiry })
      model.grants.push({ id, amount: unitsOf(step.amount), from, until, isEnded: false })
      return
    }
    case 'end grant': {
      const grant = model.grants[step.pick % model.grants.length]
      if (grant === undefined) return
      await world.api.post(`/v2/grants/${grant.id}/${step.how}`, {})
      grant.isEnded = true
      return
    }
    case 'pass':
      model.now += step.seconds
      return
    case 'pause':
      await world.patch({ is_active: step.isActive })
      model.isActive = step.isActive
      return
    case 'move': {
      model.minimum = unitsOf(step.minimum)
      model.target = model.minimum + unitsOf(step.above)
      await world.patch({ minimum_balance: textOf(model.minimum), target_balance: textOf(model.target) })
      return
    }
    case 'archive': {
      const id = step.what === 'accounts' ? world.account : world.metric
      await world.api.post(`/v2/${step.what}/${id}/${step.isArchived ? 'archive' : 'unarchive'}`, {})
      model.archived[step.isArchived ? 'add' : 'delete'](step.what)
    }
  }
}

/** Checks a refill against the rule. */
async function expectRefill(world: RefillWorld, model: Model): Promise<void> {
  const before = balanceOf(model)
  const mayBe = model.isActive && model.archived.size === 0
  const isDue = mayBe && before < model.minimum
  const outcome = await world.refill({ now: () => new Date(model.now * 1_000 + 300) })
  expect(outcome).to.equal(isDue ? 'refilled' : mayBe ? 'enough' : 'not_now')
  const refills = await world.refills()
  if (isDue) {
    model.refills.push(textOf(model.target - before))
    const made = refills.at(-1)
    expect(made).to.include({ balance: textOf(before), effective_at: model.now })
    const units = model.target - before
    model.grants.push({
      id: made?.grant_id ?? '',
      amount: units,
      from: model.now,
      until: Infinity,
      isEnded: false,
    })
    expect(balanceOf(model)).to.equal(model.target)
  }
  expect(refills.map((refill) => refill.amount)).to.deep.equal(model.refills)
}

describe('refills, held against a model', function () {
  this.timeout(240_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('refill_model')
  })
  after(() => running.stop())

  it('come exactly when an active balance is below its minimum, and fill up exactly to the target, whatever happens', async () => {
    let made = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
        const world = await makeRefillWorld(running)
        const model: Model = {
          now: 1_900_000_000,
          usage: [],
          grants: [],
          minimum: unitsOf('10'),
          target: unitsOf('50'),
          isActive: true,
          archived: new Set(),
          refills: [],
        }
        for (const next of steps) {
          await carryOut(next, world, model)
          await expectRefill(world, model)
        }
        made += model.refills.length
      }),
      { numRuns: timesIn({ embedded: 12, processes: 4 }), endOnFailure: true },
    )
    // Each history begins with a refill unless it is paused first. The number of later refills is random.
    expect(made).to.be.greaterThan(timesIn({ embedded: 10, processes: 2 }))
  })
})
