import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { type Load, PLACEHOLDER, sendLoad, TIME_PLACEHOLDER } from '../../bench/send-load.ts'

describe('the load generator', () => {
  let server: Server
  let taken: string[] = []
  let load: Load

  before(async () => {
    server = createServer((req, res) => {
      void text(req).then((body) => {
        taken.push(body)
        res.writeHead(202, { 'Content-Length': 2 }).end('{}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    load = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      headers: {},
      bodies: [`a ${PLACEHOLDER} ${TIME_PLACEHOLDER}`, `b ${PLACEHOLDER} ${TIME_PLACEHOLDER}`].map((body) =>
        Buffer.from(body),
      ),
      connections: 2,
      seconds: 30,
    }
  })
  beforeEach(() => {
    taken = []
  })
  after(() => server.close())

  const timesTaken = () => taken.map((body) => Number(body.split(' ')[2]))

  it('sends so many requests, and tells of which bodies they were', async () => {
    const result = await sendLoad({ ...load, requestsMax: 101 })
    expect(taken).to.have.length(101)
    expect(result.acknowledged).to.equal(101)
    const ofBody = ['a', 'b'].map((name) => taken.filter((body) => body.startsWith(name)).length)
    expect(result.ofBody).to.deep.equal(ofBody)
    expect(new Set(taken).size).to.equal(101)
  })

  it('sends no more a second than it is told', async () => {
    const result = await sendLoad({ ...load, seconds: 0.5, rate: 40 })
    expect(result.acknowledged).to.be.within(15, 20)
  })

  it('sends some again, byte for byte, and counts them apart', async () => {
    const result = await sendLoad({ ...load, requestsMax: 400, resentPercent: 20 })
    expect(result.resent).to.be.within(30, 150)
    expect(new Set(taken).size).to.equal(result.acknowledged)
    expect(taken).to.have.length(result.acknowledged + result.resent)
  })

  it('spreads times over a range, in order or not', async () => {
    const times = { kind: 'past', startAt: 1_600_000_000, endAt: 1_700_000_000, events: 200 } as const
    const one = { ...load, connections: 1, requestsMax: 200 }
    await sendLoad({ ...one, times: { ...times, shuffled: false } })
    const inOrder = timesTaken()
    expect(inOrder).to.deep.equal(inOrder.toSorted())
    expect(inOrder[0]).to.equal(times.startAt)
    expect(inOrder.at(-1)).to.be.within(times.endAt - 1_000_000, times.endAt - 1)
    taken = []
    await sendLoad({ ...one, times: { ...times, shuffled: true } })
    expect(timesTaken()).not.to.deep.equal(timesTaken().toSorted())
    for (const time of timesTaken()) expect(time).to.be.within(times.startAt, times.endAt - 1)
  })

  it('makes some events minutes to hours late', async () => {
    await sendLoad({ ...load, requestsMax: 400, times: { kind: 'now', latePercent: 20 } })
    const now = Date.now() / 1_000
    const ages = timesTaken().map((time) => now - time)
    const late = ages.filter((age) => age > 290)
    expect(late.length).to.be.within(40, 130)
    expect(ages.filter((age) => age < 10)).to.have.length(ages.length - late.length)
  })
})
