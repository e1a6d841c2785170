import { expect } from 'chai'
import fc from 'fast-check'
import type { TallyClient } from '../../../clients/sdk/src/core/client.ts'
import type { MemoryRequest } from '../../../clients/sdk/src/core/memory-transport.ts'
import { NotTallyError, type Pages } from '../../../clients/sdk/src/node.ts'
import { failureOf } from '../../support/failure-of.ts'
import { scriptedClient } from './scripted-client.ts'

interface Item {
  id: string
}

/** A client of a Tally that has these items, in pages of `limit`. */
const clientOf = <T extends object>(items: readonly T[], cursorOf: (item: T) => string, limit: number) =>
  scriptedClient([
    ({ query }: MemoryRequest) => {
      const after = query['starting_after']
      const start = after === undefined ? 0 : items.findIndex((item) => cursorOf(item) === after) + 1
      if (after !== undefined && start === 0) return { status: 400, body: `starting_after: ${after}` }
      return { body: { data: items.slice(start, start + limit), has_more: start + limit < items.length } }
    },
  ])

const idsOf = (count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ id: `item_${index}` }))

async function collect<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of pages) items.push(item)
  return items
}

describe('lists of the SDK', () => {
  it('have every item once and in order, whatever the size of pages is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(30), fc.integer({ min: 1, max: 12 }), async (count, limit) => {
        const items = idsOf(count)
        const { tally, requests } = clientOf(items, ({ id }) => id, limit)
        expect(await collect(tally.grants.list({ account_id: 'account_1' }))).to.deep.equal(items)
        expect(requests.length).to.equal(Math.max(1, Math.ceil(count / limit)))
        for (const { query } of requests) expect(query['account_id']).to.equal('account_1')
      }),
    )
  })

  it('go on after the field that each of them is ordered by', async () => {
    const cases: [object[], (item: never) => string, (tally: TallyClient) => Pages<unknown>][] = [
      [
        [1, 2, 3].map((n) => ({ account_id: `account_${n}`, metric_id: 'metric_1' })),
        (item: { account_id: string; metric_id: string }) => `${item.account_id}/${item.metric_id}`,
        (tally) => tally.refillConfigurations.list(),
      ],
      [
        [1, 2, 3].map((n) => ({ grant_id: `grant_${n}` })),
        (item: { grant_id: string }) => item.grant_id,
        (tally) => tally.refillConfigurations.refills('account_1', 'metric_1'),
      ],
      [
        ['chf', 'eur', 'usd'].map((currency) => ({ currency })),
        (item: { currency: string }) => item.currency,
        (tally) => tally.currencies.list(),
      ],
      [
        [0, 1, 2].map((revision) => ({ revision })),
        (item: { revision: number }) => String(item.revision),
        (tally) => tally.events.revisions('event_1'),
      ],
      [
        ['a', 'b', 'c'].map((id) => ({ contract_id: id })),
        (item: { contract_id: string }) => item.contract_id,
        (tally) => tally.invoicePreviews.list(),
      ],
    ]
    for (const [items, cursorOf, list] of cases) {
      const { tally } = clientOf(items, cursorOf as (item: object) => string, 1)
      expect(await collect(list(tally))).to.deep.equal(items)
    }
  })

  it('are promises of their first page, which has the next one', async () => {
    const { tally, requests } = clientOf(idsOf(3), ({ id }) => id, 2)
    const page = await tally.metrics.list({ limit: 2 })
    expect(page.data.map(({ id }) => id)).to.deep.equal(['item_0', 'item_1'])
    expect(page.has_more).to.equal(true)
    const next = await page.next()
    expect([next?.data.length, next?.has_more, await next?.next()]).to.deep.equal([1, false, undefined])
    expect(requests.map(({ query }) => query)).to.deep.equal([
      { limit: '2' },
      { limit: '2', starting_after: 'item_1' },
    ])
  })

  it('send nothing until they are awaited, and no page before it is needed', async () => {
    const { tally, requests } = clientOf(idsOf(4), ({ id }) => id, 2)
    const list = tally.metrics.list()
    expect(requests.length).to.equal(0)
    for await (const { id } of list) {
      expect(requests.length).to.equal(id === 'item_2' ? 2 : 1)
      if (id === 'item_2') break
    }
    await list
    expect(requests.length).to.equal(2)
  })

  it('begin where the caller says', async () => {
    const { tally } = clientOf(idsOf(4), ({ id }) => id, 2)
    const items = await collect(tally.metrics.list({ starting_after: 'item_0' }))
    expect(items.map(({ id }) => id)).to.deep.equal(['item_1', 'item_2', 'item_3'])
  })

  it('end with an error when a page goes no further and promises more', async () => {
    const { tally, requests } = scriptedClient([{ body: { data: [{ id: 'account_1' }], has_more: true } }])
    const seen: string[] = []
    const failure = await failureOf(
      (async () => {
        for await (const { id } of tally.accounts.list()) seen.push(id)
      })(),
    )
    expect((failure as Error).message).to.include('a page that goes no further says that there are more')
    expect([seen.length, requests.length]).to.deep.equal([2, 2])
  })

  it('reject when a page fails, and when an empty page promises more', async () => {
    const cut = scriptedClient(['cut'], { maxRetries: 0 })
    expect(await failureOf(cut.tally.metrics.list())).to.be.instanceOf(Error)
    expect(await failureOf(collect(cut.tally.metrics.list()))).to.be.instanceOf(Error)
    let ended = false
    await cut.tally.metrics
      .list()
      .catch(() => undefined)
      .finally(() => {
        ended = true
      })
    expect(ended).to.equal(true)
    const { tally } = scriptedClient([{ body: { data: [], has_more: true } }])
    expect(NotTallyError.is(await failureOf(collect(tally.metrics.list())))).to.equal(true)
  })
})
