import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { readJson } from '../../../shared/http/read-json-body.ts'
import { takeTurn } from '../../../shared/http/take-turn.ts'

const BYTES_MAX = 1_000_000
const AT_ONCE = 8

describe('reading bodies of JSON that arrive together', () => {
  /** In which rounds of the event loop each of them was read. */
  async function roundsOf(body: object): Promise<number[]> {
    let round = 0
    let isOver = false
    const count = () => {
      round++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const bytes = Buffer.from(JSON.stringify(body))
    const requests = Array.from({ length: AT_ONCE }, () => requestWith(bytes))
    const rounds = await Promise.all(
      requests.map(async (request) => {
        const read = await readJson(request, BYTES_MAX)
        expect(read).to.deep.equal({ rawBody: bytes, body })
        return round
      }),
    )
    isOver = true
    return rounds
  }

  it('takes a round of the event loop for each large one, in the order they came', async () => {
    const rounds = await roundsOf({ text: 'x'.repeat(200_000) })
    expect(new Set(rounds)).to.have.property('size', AT_ONCE)
    expect(rounds).to.deep.equal(rounds.toSorted((a, b) => a - b))
  })

  it('takes one for several that are not so large', async () => {
    const rounds = await roundsOf({ text: 'x'.repeat(50_000) })
    expect(new Set(rounds).size).to.be.within(2, 4)
    expect(rounds).to.deep.equal(rounds.toSorted((a, b) => a - b))
  })

  it('does not wait with small ones', async () => {
    const rounds = await roundsOf({ text: 'x' })
    expect(new Set(rounds)).to.have.property('size', 1)
  })

  it('lets what is begun go first, so that few are taken apart at a time', async () => {
    const bytes = 200_000
    let [underWay, most] = [0, 0]
    const work = async () => {
      await takeTurn(bytes, false)
      most = Math.max(most, ++underWay)
      await takeTurn(bytes, true)
      await takeTurn(bytes, true)
      underWay--
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    expect(most).to.equal(1)
  })

  it('goes on with the others when one of them is broken', async () => {
    const broken = readJson(requestWith(Buffer.from('x'.repeat(200_000))), BYTES_MAX)
    const good = roundsOf({ text: 'x'.repeat(200_000) })
    expect(await broken.catch((err: unknown) => err)).to.have.property('status', 400)
    expect(await good).to.have.length(AT_ONCE)
  })
})

/** As node:http hands it over, as far as it is looked at. */
function requestWith(body: Buffer): IncomingMessage {
  const stream = new PassThrough()
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
  stream.end(body)
  return Object.assign(stream, { headers }) as unknown as IncomingMessage
}
