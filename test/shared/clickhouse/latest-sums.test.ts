import { expect } from 'chai'
import { addAmounts, type Amount, formatAmount, parseAmount, ZERO } from '../../../shared/amount/amount.ts'
import { makeLatestSums, type SumsRead } from '../../../shared/clickhouse/usage/latest-sums.ts'
import type { AccountKey } from '../../../shared/domain/account-key.ts'
import type { SumsBySource } from '../../../shared/domain/balance.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { subjectOf } from '../../../shared/usage-lines/log-line-subjects.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'

const mine: AccountKey = { namespaceId: 'company', accountId: 'account' }
const other: AccountKey = { namespaceId: 'company', accountId: 'other' }

/** A promise, and the function that resolves it. */
function pending<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((resolved) => (resolve = resolved))
  return { promise, resolve }
}

const readIn = (epoch: number, used: Amount): SumsRead => ({ sums: new Map([['usd', used]]), epoch })

/** Stored usage of one account, with reads and writes that run until the test releases them. */
function heldUsage() {
  const sums = makeLatestSums(0)
  let stored = 0
  let reads = 0
  const asked = (): SumsRead => {
    reads++
    return readIn(1, parseAmount(String(stored)))
  }
  return {
    sums,
    get reads() {
      return reads
    },
    read: async (account = mine) =>
      String((await sums.read(account, () => Promise.resolve(asked()))).get('usd')),
    /** A read that has its answer, and waits. */
    hold(account = mine) {
      const held = pending<undefined>()
      const found = asked()
      const read = sums.read(account, () => held.promise.then(() => found))
      return async () => {
        held.resolve(undefined)
        await read
      }
    },
    /**
     * Begins a write that has stored nothing yet. @returns a function that stores its usage, or fails, and ends the
     * write
     */
    async write(accounts = [mine]) {
      const [begun, held] = [pending<undefined>(), pending<boolean>()]
      const written = sums.whileWriting(accounts, async () => {
        begun.resolve(undefined)
        if (!(await held.promise)) throw new Error('not stored')
        stored++
      })
      await begun.promise
      return async (isStored = true) => {
        held.resolve(isStored)
        await written.catch(() => undefined)
      }
    },
  }
}

describe('sums of accounts, by whose usage is written', () => {
  it('are read once', async () => {
    const usage = heldUsage()
    expect([await usage.read(), await usage.read()]).to.deep.equal(['0', '0'])
    expect(usage.reads).to.equal(1)
  })

  it('are read again once usage is written, and kept from then on', async () => {
    const usage = heldUsage()
    await usage.read()
    await (
      await usage.write()
    )()
    expect([await usage.read(), await usage.read()]).to.deep.equal(['1', '1'])
    expect(usage.reads).to.equal(2)
  })

  it('are read each time while usage is written', async () => {
    const usage = heldUsage()
    await usage.read()
    const end = await usage.write()
    await usage.read()
    await usage.read()
    expect(usage.reads).to.equal(3)
    await end()
    expect(await usage.read()).to.equal('1')
  })

  it('are not kept when a write began before they were there', async () => {
    const usage = heldUsage()
    const endRead = usage.hold()
    const endWrite = await usage.write()
    await endRead()
    await endWrite()
    expect(await usage.read()).to.equal('1')
  })

  it('are not kept when a write began before they were there, and has ended before them', async () => {
    const usage = heldUsage()
    const endRead = usage.hold()
    await (
      await usage.write()
    )()
    await endRead()
    expect(await usage.read()).to.equal('1')
  })

  it('are not kept when they were read while usage was written, and came after that', async () => {
    const usage = heldUsage()
    const endWrite = await usage.write()
    const endRead = usage.hold()
    await endWrite()
    await endRead()
    expect(await usage.read()).to.equal('1')
  })

  it('are read each time until the last of several writes has ended', async () => {
    const usage = heldUsage()
    const [endFirst, endLast] = [await usage.write(), await usage.write([mine, other, mine])]
    await endFirst()
    expect(await usage.read()).to.equal('1')
    await endLast()
    expect(await usage.read()).to.equal('2')
  })

  it('are kept again after a write that failed', async () => {
    const usage = heldUsage()
    await (
      await usage.write()
    )(false)
    await usage.read()
    await usage.read()
    expect(usage.reads).to.equal(1)
  })

  it('are kept whatever is written of other accounts, and of accounts of this id in other namespaces', async () => {
    const usage = heldUsage()
    await usage.read()
    await (
      await usage.write([other, { ...mine, namespaceId: 'another' }])
    )()
    expect(await usage.read()).to.equal('0')
    expect(usage.reads).to.equal(1)
  })

  it('are read again once readers use rollups of another epoch', async () => {
    const usage = heldUsage()
    usage.sums.useEpoch(1)
    await usage.read()
    usage.sums.useEpoch(1)
    await usage.read()
    expect(usage.reads).to.equal(1)
    usage.sums.useEpoch(2)
    await usage.read()
    expect(usage.reads).to.equal(2)
  })

  it('are not kept that were read from rollups of a former epoch', async () => {
    const { sums } = heldUsage()
    const former = pending<SumsRead>()
    const read = sums.read(mine, () => former.promise)
    sums.useEpoch(2)
    former.resolve(readIn(1, parseAmount('7')))
    expect(String((await read).get('usd'))).to.equal('7')
    const next = await sums.read(mine, () => Promise.resolve(readIn(2, parseAmount('1'))))
    expect(String(next.get('usd'))).to.equal('1')
  })

  it('of events are kept in every epoch', async () => {
    const { sums } = heldUsage()
    sums.useEpoch(2)
    await sums.read(mine, () => Promise.resolve(readIn(Infinity, parseAmount('3'))))
    expect(sums.has(mine)).to.equal(true)
  })

  it('are not kept where there is no usage, nor where the read failed', async () => {
    const { sums } = heldUsage()
    let reads = 0
    const askNothing = () =>
      Promise.resolve<SumsRead>(reads++ === 0 ? { sums: new Map(), epoch: 1 } : readIn(1, parseAmount('1')))
    await sums.read(mine, askNothing)
    await sums.read(mine, askNothing)
    expect(reads).to.equal(2)
    const failed = await sums.read(other, () => Promise.reject(new Error('away'))).catch(() => 'failed')
    expect(failed).to.equal('failed')
    await sums.read(other, askNothing)
    expect(reads).to.equal(3)
  })
})

const STARTED_AT = 1_800_000_000

/** Usage of accounts that is stored as lines of the event log, with functions to read it. */
function storedUsage(emptyFrom = STARTED_AT) {
  const sums = makeLatestSums(emptyFrom)
  const events = new Map<string, UsageEvent>()
  let reads = 0
  const keyOf = ({ accountId }: UsageEvent): AccountKey => ({ namespaceId: NAMESPACE, accountId })
  const found = ({ accountId }: AccountKey): SumsBySource => {
    const total = new Map<string, Amount>()
    for (const event of events.values())
      if (event.accountId === accountId && !event.voided)
        total.set(event.source, addAmounts(total.get(event.source) ?? ZERO, parseAmount(event.quantity)))
    return total
  }
  const insert = (lines: readonly UsageEvent[]) => {
    for (const event of lines) {
      const before = events.get(event.id)
      if (before === undefined || before.version < event.version) events.set(event.id, event)
    }
  }
  const store = (
    lines: readonly UsageEvent[],
    write = () => {
      insert(lines)
      return Promise.resolve()
    },
  ) =>
    sums.whileStoring(
      Buffer.from(lines.map((one) => `${usageEventToLine(one)}\n`).join('')),
      lines.map(keyed),
      write,
    )
  return {
    insert,
    get reads() {
      return reads
    },
    async read(account = { namespaceId: NAMESPACE, accountId: ACCOUNT }, source = 'usd') {
      const read = await sums.read(account, () => {
        reads++
        return Promise.resolve({ sums: found(account), epoch: 1 })
      })
      expect(read, 'what a read finds').to.deep.equal(found(account))
      return formatAmount(read.get(source) ?? ZERO)
    },
    store,
    /** Begins a write whose lines readers can see at once. @returns a function that ends the write */
    async beginToStore(lines: readonly UsageEvent[]) {
      const held = pending<undefined>()
      const stored = store(lines, async () => {
        insert(lines)
        await held.promise
      })
      await new Promise(setImmediate)
      return async () => {
        held.resolve(undefined)
        await stored
      }
    },
  }

  function keyed(event: UsageEvent) {
    return { ...subjectOf(event), ...keyOf(event) }
  }
}

describe('sums of accounts to which new usage is added', () => {
  const used = (quantity: string, fields: Partial<UsageEvent> & { key?: string } = {}) =>
    makeReport({ quantity, occurredAt: STARTED_AT + 10, ...fields })

  it('hold what is new, exactly, without a read', async () => {
    const usage = storedUsage()
    await usage.store([used('0.1')])
    await usage.read()
    const other = `account_${'b'.repeat(32)}`
    await usage.store([
      used('0.2'),
      used('99999999999999999999.999999999999999999'),
      used('5', { accountId: other }),
    ])
    await usage.store([used('1', { source: 'eur' }), used('0.000000000000000001')])
    expect(await usage.read()).to.equal('100000000000000000000.3')
    expect(await usage.read(undefined, 'eur')).to.equal('1')
    expect(usage.reads).to.equal(1)
  })

  it('are read again after a repeat, in the same write or a later one', async () => {
    const usage = storedUsage()
    const [first, second] = [used('1'), used('2')]
    await usage.store([first])
    await usage.read()
    await usage.store([second, second])
    expect(await usage.read()).to.equal('3')
    await usage.store([first])
    expect(await usage.read()).to.equal('3')
    await usage.store([used('4')])
    expect(await usage.read()).to.equal('7')
    expect(usage.reads).to.equal(3)
  })

  it('are read again after a correction, even one that came before its report', async () => {
    const usage = storedUsage()
    const [early, late] = [used('1'), used('2')]
    await usage.store([used('10')])
    await usage.read()
    await usage.store([makeCorrection(early, { quantity: '3' })])
    expect(await usage.read()).to.equal('13')
    await usage.store([early])
    expect(await usage.read()).to.equal('13')
    await usage.store([late])
    await usage.store([makeCorrection(late, { voided: true })])
    expect(await usage.read()).to.equal('13')
    expect(usage.reads).to.equal(4)
  })

  it('are read again after usage of a time at which some may have been stored before the start', async () => {
    const usage = storedUsage()
    const before = used('1', { occurredAt: STARTED_AT - 1 })
    usage.insert([before])
    await usage.read()
    await usage.store([before])
    expect(await usage.read()).to.equal('1')
    await usage.store([used('1', { occurredAt: STARTED_AT })])
    expect(await usage.read()).to.equal('2')
    expect(usage.reads).to.equal(2)
  })

  it('are read again after a write that failed, whether it stored anything or not, and after the next try', async () => {
    const usage = storedUsage()
    await usage.store([used('1')])
    await usage.read()
    for (const isStored of [true, false]) {
      const lines = [used('2')]
      const failing = usage.store(lines, () => {
        if (isStored) usage.insert(lines)
        return Promise.reject(new Error('not stored'))
      })
      expect(await failing.catch((err: unknown) => err)).to.be.an('error')
      expect(await usage.read()).to.equal('3')
      await usage.store(lines)
      expect(await usage.read()).to.equal(isStored ? '3' : '5')
    }
    expect(usage.reads).to.equal(5)
  })

  it('are waited for while usage is stored, and hold it for those that waited', async () => {
    const usage = storedUsage()
    await usage.store([used('1')])
    await usage.read()
    const [first, last] = [[used('2')], [used('4')]]
    const [held, heldLast] = [pending<undefined>(), pending<undefined>()]
    const stored = usage.store(first, async () => {
      usage.insert(first)
      await held.promise
    })
    const storedLast = usage.store(last, async () => {
      await heldLast.promise
      usage.insert(last)
    })
    await new Promise(setImmediate)
    const answers: string[] = []
    const waiting = [1, 2].map(async () => answers.push(await usage.read()))
    held.resolve(undefined)
    await stored
    await new Promise(setImmediate)
    expect(answers, 'while the last is under way').to.deep.equal([])
    heldLast.resolve(undefined)
    await Promise.all([storedLast, ...waiting])
    expect(answers).to.deep.equal(['7', '7'])
    expect(usage.reads).to.equal(1)
  })

  it('are read once a write has ended, when they were not cached, and kept from then on', async () => {
    const usage = storedUsage()
    await usage.store([used('1')])
    const end = await usage.beginToStore([used('2')])
    const read = usage.read()
    await new Promise(setImmediate)
    expect(usage.reads).to.equal(0)
    await end()
    expect(await read).to.equal('3')
    expect(await usage.read()).to.equal('3')
    expect(usage.reads).to.equal(1)
  })

  it('do not hold what a line adds that is voided without being a correction', async () => {
    const usage = storedUsage()
    await usage.store([used('1')])
    await usage.read()
    await usage.store([used('2', { voided: true })])
    expect(await usage.read()).to.equal('1')
  })

  it('are read at last when storing takes too long', async function () {
    this.timeout(10_000)
    const usage = storedUsage()
    await usage.store([used('1')])
    await usage.read()
    const end = await usage.beginToStore([used('2')])
    const startedAt = performance.now()
    expect(await usage.read()).to.equal('3')
    expect(performance.now() - startedAt).to.be.within(900, 5_000)
    expect(usage.reads).to.equal(2)
    await end()
    expect(await usage.read()).to.equal('3')
    expect(usage.reads, 'what was added was added to what was there before').to.equal(2)
  })
})
