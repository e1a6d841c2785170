import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Activity } from '../../../shared/lifecycle/activity.ts'

const LONG_MS = 60

describe('an activity', () => {
  const succeed = () => Promise.resolve()

  it('is in trouble when nothing succeeds for long, and no more once something does', async () => {
    const activity = new Activity('storing')
    const fail = () => Promise.reject(new Error('broken'))
    await activity.attempt(fail).catch(() => undefined)
    expect(activity.findTrouble(LONG_MS)).to.equal(undefined)
    await sleep(LONG_MS + 20)
    const trouble = activity.findTrouble(LONG_MS)
    expect(trouble?.activity).to.equal('storing')
    expect(trouble?.failingMs).to.be.at.least(LONG_MS)
    expect(activity.isStuck(LONG_MS), 'nothing is under way').to.equal(false)
    await activity.attempt(succeed)
    expect(activity.findTrouble(0)).to.equal(undefined)
  })

  it('is in trouble, and stuck, when an attempt hangs', async () => {
    const activity = new Activity('storing')
    let end: () => void = () => undefined
    const hanging = activity.attempt(() => new Promise<void>((resolve) => (end = resolve)))
    await sleep(LONG_MS + 20)
    expect(activity.findTrouble(LONG_MS)?.failingMs).to.be.at.least(LONG_MS)
    expect(activity.isStuck(LONG_MS)).to.equal(true)
    end()
    await hanging
    expect(activity.findTrouble(0)).to.equal(undefined)
    expect(activity.isStuck(0)).to.equal(false)
  })
})
