import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ClickHouseException } from '../../../services/analysts/exception.ts'
import { type Delivery, unsentPlaces } from '../../../services/analysts/unsent-places.ts'
import { failureOf } from '../../support/failure-of.ts'

const STALLED_MS = 300
const NEVER = new AbortController().signal

/** A query that keeps its place until it is let go, or cut. */
interface Held {
  delivery: Promise<Delivery>
  letGo: () => void
  wasCut: () => boolean
  over: Promise<unknown>
}

describe('the places of answers that are not sent yet', () => {
  const open = (waitMs = 5_000) => {
    const places = unsentPlaces(
      {
        atOnce: 6,
        atOnceOfCompany: 3,
        atOnceOfOne: 2,
        waitingMax: 100,
        waitingMaxOfOne: 10,
        waitMs,
        rejection: (reason) => new ClickHouseException('TOO_MANY_SIMULTANEOUS_QUERIES', reason),
      },
      STALLED_MS,
    )
    const hold = (name: string, company?: string): Held => {
      const free = new AbortController()
      const cut = new AbortController()
      let tell: (delivery: Delivery) => void = () => undefined
      const delivery = new Promise<Delivery>((resolve) => (tell = resolve))
      const over = places
        .run(
          async (given) => {
            tell(given)
            const signal = AbortSignal.any([free.signal, cut.signal])
            if (!signal.aborted) await once(signal, 'abort')
          },
          {
            name,
            company,
            signal: NEVER,
            cut: (reason) => {
              cut.abort(reason)
            },
          },
        )
        .catch((err: unknown) => err)
      return {
        delivery,
        letGo: () => {
          free.abort()
        },
        wasCut: () => cut.signal.aborted,
        over,
      }
    }
    return { places, hold }
  }
  const hasPlace = ({ delivery }: Held) =>
    Promise.race([delivery.then(() => true), sleep(20).then(() => false)])
  const countPlaces = async (all: readonly Held[]) =>
    (await Promise.all(all.map(hasPlace))).filter(Boolean).length

  it('are a share for each analyst, and one for each company', async () => {
    const { hold } = open()
    const ofAnn = [1, 2, 3].map(() => hold('ann', 'acme'))
    const ofBob = [1, 2, 3].map(() => hold('bob', 'acme'))
    const ofAll = [1, 2, 3].map(() => hold('analyst'))
    expect([await countPlaces(ofAnn), await countPlaces(ofBob), await countPlaces(ofAll)]).to.deep.equal([
      2, 1, 2,
    ])
    ofAnn[0]?.letGo()
    ofAnn[1]?.letGo()
    expect(await countPlaces(ofBob)).to.equal(2) // ann's third query had come before
    for (const one of [...ofAnn, ...ofBob, ...ofAll]) one.letGo()
    await Promise.all([...ofAnn, ...ofBob, ...ofAll].map(({ over }) => over))
  })

  it('are taken from the client that took nothing for the longest time, while others wait', async () => {
    const { hold } = open()
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const held = names.map((name) => hold(name, name))
    for (const [nth, { delivery }] of held.entries())
      // All but two read: one is between two parts, the others have just been offered something.
      (await delivery).heldSince =
        nth === 2
          ? performance.now() - 60_000
          : nth === 4
            ? performance.now() - 90_000
            : nth === 5
              ? undefined
              : Infinity
    await sleep(700)
    expect(held.some(({ wasCut }) => wasCut())).to.equal(false) // nobody waits
    const next = hold('next', 'next')
    await next.delivery
    expect(names.filter((_, nth) => held[nth]?.wasCut())).to.deep.equal(['e'])
    const after = hold('after', 'after')
    await after.delivery
    expect(names.filter((_, nth) => held[nth]?.wasCut())).to.deep.equal(['c', 'e'])
    const none = hold('none', 'none')
    await sleep(1_200)
    expect(await hasPlace(none)).to.equal(false)
    expect(names.filter((_, nth) => held[nth]?.wasCut())).to.deep.equal(['c', 'e'])
    for (const one of [...held, next, after, none]) one.letGo()
    await Promise.all([...held, next, after, none].map(({ over }) => over))
  })

  it('are not taken from other companies by one that has its share', async () => {
    const { hold } = open()
    const stalled = hold('eve', 'globex')
    ;(await stalled.delivery).heldSince = performance.now() - 60_000
    const own = [hold('ann', 'acme'), hold('ann', 'acme'), hold('bob', 'acme')]
    const waits = hold('cid', 'acme')
    await sleep(1_200)
    expect([stalled.wasCut(), await hasPlace(waits)]).to.deep.equal([false, false])
    const [first] = own
    if (first !== undefined) (await first.delivery).heldSince = performance.now() - 30_000
    await waits.delivery
    expect([stalled.wasCut(), first?.wasCut()]).to.deep.equal([false, true])
    for (const one of [stalled, ...own, waits]) one.letGo()
    await Promise.all([stalled, ...own, waits].map(({ over }) => over))
  })

  it('are waited for no longer than a query may wait in all, and not at all after closing', async () => {
    const { places, hold } = open(400)
    const held = [hold('ann', 'acme'), hold('ann', 'acme')]
    const startedAt = performance.now()
    const late = hold('ann', 'acme')
    expect(await late.over).to.have.property('code', 202)
    expect(performance.now() - startedAt).to.be.within(350, 1_500)
    expect(places.queued).to.equal(0)
    places.close()
    const failure = await failureOf(
      places.run(() => Promise.resolve(), { name: 'x', company: 'x', signal: NEVER, cut: () => undefined }),
    )
    expect(failure).to.have.property('code', 202)
    for (const one of held) one.letGo()
    await Promise.all(held.map(({ over }) => over))
  })
})
