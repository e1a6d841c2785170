import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { listen, type HttpServer } from '../../../shared/http/http-server.ts'
import { until } from '../../support/until.ts'

const GOOD = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const TOO_LARGE = `GET /?${'x'.repeat(17 * 1_024)} HTTP/1.1\r\nHost: x\r\n\r\n`

describe('an HTTP server', () => {
  let server: HttpServer
  /** Answers that wait until they are let go. */
  const held: (() => void)[] = []

  before(async () => {
    server = await listen(
      (req, res) => {
        if (req.url === '/held') {
          res.writeHead(200, { 'Content-Length': 10 }).write('first')
          held.push(() => res.end(' half'))
        } else res.end('fine')
      },
      { name: 'the test', host: '127.0.0.1', port: 0, portSetting: 'none', closeTimeoutMs: 500 },
    )
  })
  after(() => server.close())

  /** A connection, and everything it was sent so far. */
  async function open(): Promise<{ socket: Socket; got: () => string }> {
    const socket = connect(server.port, '127.0.0.1')
    let got = ''
    socket.setEncoding('latin1').on('data', (text: string) => (got += text))
    await once(socket, 'connect')
    return { socket, got: () => got }
  }

  it('answers a request line that is too long in words, the first on a connection or a later one', async () => {
    for (const before of [0, 1, 2]) {
      const { socket, got } = await open()
      for (let n = 1; n <= before; n++) {
        socket.write(GOOD)
        await until(() => Promise.resolve(got().split('fine').length === n + 1))
      }
      const closed = once(socket, 'close')
      socket.write(TOO_LARGE)
      await closed
      const last = got().slice(got().lastIndexOf('HTTP/1.1'))
      expect(last).to.match(/^HTTP\/1\.1 431 /)
      expect(last).to.contain('the request line and headers are larger than 16384 bytes')
    }
  })

  it('puts nothing into the middle of an answer', async () => {
    const { socket, got } = await open()
    const closed = once(socket, 'close')
    socket.write(GOOD.replace('/ ', '/held '))
    await until(() => Promise.resolve(got().endsWith('first')))
    socket.write(TOO_LARGE)
    await closed
    expect(got()).to.match(/^HTTP\/1\.1 200 /)
    expect(got()).not.to.contain('431')
    for (const letGo of held) letGo()
  })

  it('lets in no more than half of all connections from one address', async () => {
    const small = await listen((_req, res) => res.end('fine'), {
      name: 'a small one',
      host: '127.0.0.1',
      port: 0,
      portSetting: 'none',
      closeTimeoutMs: 100,
      connectionsMax: 4,
    })
    const openTo = async (localAddress: string) => {
      const socket = connect({ port: small.port, host: '127.0.0.1', localAddress })
      let got = ''
      socket.setEncoding('latin1').on('data', (text: string) => (got += text))
      await once(socket, 'connect')
      const closed = once(socket, 'close')
      return { socket, closed, got: () => got }
    }
    const [first] = [await openTo('127.0.0.1'), await openTo('127.0.0.1')]
    const third = await openTo('127.0.0.1')
    await third.closed
    expect(third.got()).to.match(
      /^HTTP\/1\.1 503 [^]*retry-after: 1\r\n[^]*too many connections from this address/i,
    )
    const other = await openTo('127.0.0.2')
    other.socket.write(GOOD)
    await until(() => Promise.resolve(other.got().endsWith('fine')))
    first.socket.destroy()
    await first.closed
    const again = await openTo('127.0.0.1')
    again.socket.write(GOOD)
    await until(() => Promise.resolve(again.got().endsWith('fine')))
    await small.close()
  })
})
