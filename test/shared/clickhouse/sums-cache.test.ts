import { expect } from 'chai'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { makeSumsCache } from '../../../shared/clickhouse/usage/sums-cache.ts'
import type { AccountKey } from '../../../shared/domain/account-key.ts'
import type { SumsBySource } from '../../../shared/domain/balance.ts'

const mine: AccountKey = { namespaceId: 'company', accountId: 'account' }
const other: AccountKey = { namespaceId: 'company', accountId: 'other' }

/** A promise, and what ends it. */
function pending<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((resolved) => (resolve = resolved))
  return { promise, resolve }
}

/** Usage of one account that is stored, and reads and writes of it that go on until they are let go. */
function heldUsage() {
  const sums = makeSumsCache()
  let stored = 0
  let reads = 0
  const asked = (): SumsBySource => {
    reads++
    return new Map([['usd', parseAmount(String(stored))]])
  }
  return {
    sums,
    get reads() {
      return reads
    },
    read: async (account = mine) =>
      String((await sums.read(account, () => Promise.resolve(asked()))).get('usd')),
    /** A read that has its answer already, and waits. */
    hold(account = mine) {
      const held = pending<undefined>()
      const found = asked()
      const read = sums.read(account, () => held.promise.then(() => found))
      return async () => {
        held.resolve(undefined)
        await read
      }
    },
    /** A write that is under way, and has stored nothing yet. @returns stores its usage, or fails, and ends it */
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

describe('sums of accounts whose usage nobody writes', () => {
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

  it('… nor when that write has ended before them', async () => {
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

  it('are not kept where there is no usage, nor where the read failed', async () => {
    const { sums } = heldUsage()
    let reads = 0
    const askNothing = () =>
      Promise.resolve<SumsBySource>(new Map(reads++ === 0 ? [] : [['usd', parseAmount('1')]]))
    await sums.read(mine, askNothing)
    await sums.read(mine, askNothing)
    expect(reads).to.equal(2)
    const failed = await sums.read(other, () => Promise.reject(new Error('away'))).catch(() => 'failed')
    expect(failed).to.equal('failed')
    await sums.read(other, askNothing)
    expect(reads).to.equal(3)
  })
})
