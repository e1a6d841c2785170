import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { pieceOf } from '../../../shared/domain/billing/pieces.ts'
import type { NewLine, StoredContract } from '../../../shared/domain/billing/stored-contract.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { contractLineRepository } from '../../../shared/postgres/contract-lines.ts'
import { contractRepository, type NewContract } from '../../../shared/postgres/contracts.ts'
import type { PoolClient, Queryable } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import {
  cardLine,
  contractOf,
  type ContractWorld,
  creditLine,
  insertContractWorld,
  minimumLine,
  priceLine,
} from '../../support/contract-rows.ts'
import { failureOf } from '../../support/failure-of.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

const SEED = 20_260_207
const NAMESPACE = randomUUID()
const ALWAYS = { startAt: -Infinity, endAt: Infinity }

describe('contracts in PostgreSQL', function () {
  this.timeout(60_000)
  let db: TestDatabase
  let world: ContractWorld

  before(async () => {
    db = await createDatabase('contracts')
    await withTransaction(db.pool, (client) =>
      companyRepository(client).insert({
        id: randomUUID(),
        name: 'x',
        mode: 'live',
        namespaceId: NAMESPACE,
      }),
    )
  })
  // Each test has a new account, because an account follows one card.
  beforeEach(async () => {
    world = await within((client) => insertContractWorld(client, NAMESPACE))
  })
  after(() => db.close())

  const within = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
    inNamespace(db.pool, NAMESPACE, work)
  const make = (lines: readonly NewLine[], some: Partial<NewContract> = {}) =>
    within((client) => contractRepository(client).insert(NAMESPACE, contractOf(world.account, some), lines))
  const find = async (id: string) =>
    (await within((client) => contractRepository(client).find(NAMESPACE, id))) as StoredContract
  const cancelAt = async (contract: StoredContract, at: number | null) =>
    within((client) =>
      contractRepository(client).setCancellation(
        NAMESPACE,
        contract,
        at,
        at === null ? null : { mode: 'at', reason: null, requestedAt: 0 },
      ),
    )
  const endAt = (contract: StoredContract, endsAt: number | null) =>
    within((client) => contractRepository(client).update(NAMESPACE, contract, { endsAt }))
  /** The range in which each line is in force, in Unix seconds; null means never, Infinity an open end. */
  const duringOf = async (contractId: string) => {
    const { rows } = await within((client) =>
      client.query<{ id: string; never: boolean; begins: string | null; ends: string | null }>(
        `SELECT contract_line_id AS id, isempty(during) AS never, extract(epoch FROM lower(during)) AS begins,
          extract(epoch FROM upper(during)) AS ends
        FROM contract_lines WHERE contract_id = $1`,
        [contractId],
      ),
    )
    return new Map(
      rows.map(({ id, never, begins, ends }) => [
        id,
        never ? null : { startAt: Number(begins), endAt: ends === null ? Infinity : Number(ends) },
      ]),
    )
  }
  const refused = async (work: Promise<unknown>, text: RegExp) => {
    const failure = (await failureOf(work)) as Error & { code: string }
    expect([failure.code, failure.message]).to.satisfy(
      ([code, message]: string[]) => code === 'conflict' && text.test(message ?? ''),
      failure.message,
    )
  }
  const FOLLOWS = /the account already follows a rate card at that time/

  it('are found as they were made, with their lines in the order they were given in', async () => {
    const lines = [
      priceLine(world.price, { quantity: '0.000000000000000001', discountPercent: '12.5', startsAt: 9 }),
      cardLine(world.rateCard, {
        discountPercent: '100',
        description: 'd',
        startsAt: 5,
        endsAt: 7,
        priceOverrides: [
          { productId: world.product, priceId: world.price },
          { productId: world.product, value: null, priceId: world.price },
          { productId: world.product, value: 'ü', priceId: world.price },
        ],
      }),
      minimumLine({ minimumAmount: '99999999999999999999.999999999999999999', endsAt: 9 }),
      creditLine({ amount: '3.5', expires: 'period_end' }),
      creditLine({ amount: '4', source: world.metric }),
    ]
    const wanted = contractOf(world.account, {
      cadence: 'half_year',
      anchorAt: 253_402_300_799,
      startsAt: 3,
      endsAt: 1_700_000_000,
      name: 'n',
      description: 'd',
      externalId: 'e',
    })
    const made = await within((client) => contractRepository(client).insert(NAMESPACE, wanted, lines))
    expect(made).to.deep.include({ ...wanted, cancelAt: null, cancellation: null })
    expect(made.lines.map(({ createdAt, ...line }) => (createdAt instanceof Date ? line : {}))).to.deep.equal(
      lines,
    )
    expect(await find(made.id)).to.deep.equal(made)
    const record = await within((client) => contractRepository(client).findRecord(NAMESPACE, made.id))
    const page = await within((client) =>
      contractRepository(client).listRecords(NAMESPACE, { accountId: world.account }, { limit: 5 }),
    )
    expect(page).to.deep.equal({ items: [record], hasMore: false })
    expect(await find(randomUUID())).to.equal(undefined)
  })

  it('take two statements to find and few to make, however many lines', async () => {
    const lines = Array.from({ length: 200 }, (_, n) =>
      cardLine(world.rateCard, {
        startsAt: n,
        endsAt: n + 1,
        priceOverrides: [{ productId: world.product, priceId: world.price }],
      }),
    )
    const counted = (client: Queryable) => {
      const texts: string[] = []
      const query = (text: string, values: unknown[]) => {
        texts.push(text)
        return client.query(text, values)
      }
      return { texts, repository: contractRepository({ query } as unknown as Queryable) }
    }
    const contract = contractOf(world.account)
    await within(async (client) => {
      const { texts, repository } = counted(client)
      await repository.insert(NAMESPACE, contract, lines)
      expect(texts.length).to.be.at.most(5)
    })
    await within(async (client) => {
      const { texts, repository } = counted(client)
      expect((await repository.find(NAMESPACE, contract.id))?.lines.map(({ id }) => id)).to.deep.equal(
        lines.map(({ id }) => id),
      )
      expect(texts.length).to.equal(2)
    })
  })

  it('have lines that are in force as their pieces say, whatever ends when', async () => {
    const second = fc.integer({ min: 0, max: 12 })
    const endAfter = (start: number) =>
      fc.option(fc.integer({ min: start + 1, max: 14 }), { nil: null, freq: 3 })
    const times = second.chain((startsAt) =>
      endAfter(startsAt).map((endsAt) => ({ startsAt: startsAt * 100, endsAt: endsAt && endsAt * 100 })),
    )
    const step = fc.oneof(
      fc.record({ to: fc.constant('cancel' as const), at: second }),
      fc.record({ to: fc.constant('uncancel' as const) }),
      fc.record({ to: fc.constant('later' as const), by: fc.option(second, { nil: null }) }),
      fc.record({ to: fc.constant('end' as const), line: fc.nat(5), at: second }),
    )
    let cut = 0
    await fc.assert(
      fc.asyncProperty(
        times,
        fc.array(times, { minLength: 1, maxLength: 6 }),
        fc.array(step, { maxLength: 6 }),
        async (ofContract, ofLines, steps) => {
          let contract = await make(
            ofLines.map((some) => creditLine(some)),
            ofContract,
          )
          for (const one of steps) {
            if (one.to === 'cancel')
              contract = await cancelAt(contract, Math.min(one.at * 100, contract.endsAt ?? Infinity))
            if (one.to === 'uncancel') contract = await cancelAt(contract, null)
            if (one.to === 'later' && contract.endsAt !== null)
              contract = await endAt(contract, one.by === null ? null : contract.endsAt + one.by * 100)
            if (one.to === 'end') {
              const line = contract.lines[one.line % contract.lines.length]
              if (line === undefined) continue
              const at = Math.max(line.startsAt, one.at * 100)
              await within((client) =>
                contractLineRepository(client).end(NAMESPACE, contract.id, [line.id], at),
              )
              contract = await find(contract.id)
            }
          }
          expect(await find(contract.id)).to.deep.include({
            startsAt: contract.startsAt,
            endsAt: contract.endsAt,
            cancelAt: contract.cancelAt,
          })
          const expected = contract.lines.map(({ id, startsAt, endsAt }) => {
            const piece = pieceOf({ startsAt, endsAt }, contract, ALWAYS) ?? null
            if (piece === null || piece.endAt < (endsAt ?? Infinity)) cut++
            return [id, piece] as const
          })
          expect(await duringOf(contract.id)).to.deep.equal(new Map(expected))
        },
      ),
      { seed: SEED, numRuns: 150 },
    )
    expect(cut).to.be.greaterThan(100)
  })

  it('let an account follow one card at a time, over all its contracts', async () => {
    const first = await make([cardLine(world.rateCard, { startsAt: 100, endsAt: 200 })])
    const follow = (startsAt: number, endsAt: number | null) =>
      make([cardLine(world.rateCard, { startsAt, endsAt })])
    await refused(follow(0, null), FOLLOWS)
    await refused(follow(199, 201), FOLLOWS)
    await refused(follow(0, 101), FOLLOWS)
    await follow(0, 100)
    await follow(200, null)
    await refused(
      within((client) =>
        contractRepository(client).changeLines(NAMESPACE, first, {
          effectiveAt: 300,
          end: [],
          add: [cardLine(world.rateCard, { startsAt: 300 })],
        }),
      ),
      /^add: the account/,
    )
    // The refused contract left no rows, and another account can follow the card.
    const page = await within((client) =>
      contractRepository(client).listRecords(NAMESPACE, { accountId: world.account }, { limit: 100 }),
    )
    const all = await Promise.all(page.items.map(({ id }) => find(id)))
    expect(all.map(({ lines }) => lines.length)).to.deep.equal([1, 1, 1])
    const other = await within((client) => insertContractWorld(client, NAMESPACE))
    await within((client) =>
      contractRepository(client).insert(NAMESPACE, contractOf(other.account), [cardLine(world.rateCard)]),
    )
  })

  it('leave the card to another once they are canceled, and do not get it back from it', async () => {
    const first = await make([cardLine(world.rateCard)])
    const canceled = await cancelAt(first, 500)
    const second = await make([cardLine(world.rateCard, { startsAt: 500 })])
    await refused(cancelAt(canceled, null), /^the account already follows a rate card at that time/)
    await refused(cancelAt(canceled, 501), FOLLOWS)
    expect(await find(first.id)).to.deep.equal(canceled)
    await cancelAt(second, 400) // before its line begins, which is then never in force
    expect((await cancelAt(canceled, null)).cancelAt).to.equal(null)
    await refused(cancelAt(await find(second.id), 600), FOLLOWS)
  })

  it('end later unless the account follows another card by then', async () => {
    const first = await make([cardLine(world.rateCard)], { endsAt: 100 })
    const second = await make([cardLine(world.rateCard, { startsAt: 200 })], { startsAt: 200, endsAt: 300 })
    await endAt(first, 200)
    await refused(endAt(await find(first.id), 201), /^ends_at: the account/)
    await refused(endAt(await find(first.id), null), /^ends_at: the account/)
    expect((await endAt(second, null)).endsAt).to.equal(null)
    expect([...(await duringOf(second.id)).values()]).to.deep.equal([{ startAt: 200, endAt: Infinity }])
  })

  it('set one minimum at a time, as a last line of defence', async () => {
    const failure = await failureOf(make([minimumLine(), minimumLine({ startsAt: 5 })]))
    expect(failure).to.have.property('constraint', 'contract_lines_one_minimum')
    await make([minimumLine({ endsAt: 5 }), minimumLine({ startsAt: 5 })])
    await make([minimumLine()])
  })

  it('tell which grants of credit lines are written', async () => {
    const { lines } = await make([creditLine(), creditLine(), creditLine()])
    const [first = '', second = '', third = ''] = lines.map(({ id }) => id)
    await within(async (client) => {
      for (const [lineId, periodStartAt] of [
        [first, 0],
        [first, 86_400],
        [second, 86_400],
      ] as const) {
        const grant = await grantRepository(client).insert(NAMESPACE, {
          id: newId('grant'),
          accountId: world.account,
          source: 'usd',
          amount: parseAmount('1'),
          description: null,
          contractId: null,
          effectiveAt: new Date(0),
          expiresAt: null,
        })
        await client.query(
          'INSERT INTO contract_credits (namespace_id, contract_line_id, period_start_at, grant_id) VALUES ($1, $2, to_timestamp($3), $4)',
          [NAMESPACE, lineId, periodStartAt, grant.id],
        )
      }
    })
    const written = (ids: string[]) =>
      within((client) => contractRepository(client).newestCredits(NAMESPACE, ids))
    expect(await written([first, third])).to.deep.equal(new Map([[first, 86_400]]))
    expect(await written([])).to.deep.equal(new Map())
  })

  it('are listed by card once each, whenever and however often they followed it', async () => {
    const ids: string[] = []
    for (let n = 0; n < 3; n++) {
      const startsAt = n * 100
      const lines = [0, 10, 20].map((later) =>
        cardLine(world.rateCard, { startsAt: startsAt + later, endsAt: startsAt + later + 10 }),
      )
      ids.push((await make(lines, { externalId: `${world.account} ${n}` })).id)
      await make([])
    }
    const list = (filter: object, startingAfter?: string) =>
      within(async (client) => {
        const { items } = await contractRepository(client).listRecords(NAMESPACE, filter, {
          limit: 2,
          startingAfter,
        })
        return items.map(({ id }) => id)
      })
    const ofCard = { rateCardId: world.rateCard }
    expect(await list(ofCard)).to.deep.equal(ids.slice(0, 2))
    expect(await list(ofCard, ids[1])).to.deep.equal(ids.slice(2))
    expect(await list({ ...ofCard, accountId: world.account }, ids[0])).to.deep.equal(ids.slice(1))
    expect(await list({ ...ofCard, accountId: newId('account') })).to.deep.equal([])
    expect(await list({ ...ofCard, externalId: `${world.account} 1` })).to.deep.equal(ids.slice(1, 2))
    expect(await list({ ...ofCard, externalId: 'none' })).to.deep.equal([])
    expect(await list({ accountId: world.account, externalId: `${world.account} 2` })).to.deep.equal(
      ids.slice(2),
    )
  })

  it('cannot be edited by the services beyond what a change is', async () => {
    const { id } = await make([creditLine()])
    for (const text of [
      `UPDATE contracts SET currency = 'eur' WHERE contract_id = '${id}'`,
      `UPDATE contract_lines SET credit_amount = 2 WHERE contract_id = '${id}'`,
      `UPDATE contract_lines SET during = 'empty' WHERE contract_id = '${id}'`,
      `UPDATE contract_line_overrides SET nth = 7`,
      `DELETE FROM contract_lines WHERE contract_id = '${id}'`,
    ]) {
      const failure = await failureOf(within((client) => client.query(text)))
      expect(String(failure), text).to.match(/permission denied for table/)
    }
  })
})
