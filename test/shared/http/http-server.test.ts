import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { answerText } from '../../../shared/http/answer-text.ts'
import { HttpError } from '../../../shared/http/http-error.ts'
import { type HttpServer, listen } from '../../../shared/http/http-server.ts'
import { readBytes } from '../../../shared/http/read-json-body.ts'
import { until } from '../../support/until.ts'

const GOOD = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const TOO_LARGE = `GET /?${'x'.repeat(17 * 1_024)} HTTP/1.1\r\nHost: x\r\n\r\n`

const BYTES_MAX = 1_000

describe('an HTTP server', () => {
  let server: HttpServer
  /** Answers that wait until the test releases them. */
  const held: (() => void)[] = []

  before(async () => {
    server = await listen(
      (req, res) => {
        if (req.url === '/held') {
          res.writeHead(200, { 'Content-Length': 10 }).write('first')
          held.push(() => res.end(' half'))
        } else if (req.url?.startsWith('/told') === true) {
          res.end(`told ${req.url} of ${req.headers.host ?? ''}`)
        } else if (req.url === '/reads') {
          readBytes(req, BYTES_MAX).then(
            (body) => res.end(`read ${body.length}`),
            (err: unknown) => {
              if (err instanceof HttpError) answerText(res, err.status, err.message)
            },
          )
        } else if (req.url === '/refuses') answerText(res, 401, 'who are you')
        else res.end('fine')
      },
      { name: 'the test', host: '127.0.0.1', port: 0, portSetting: 'none', closeTimeoutMs: 500 },
    )
  })
  after(() => server.close())

  /** Opens a connection, and collects all data that it receives. */
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

  it('lets new connections take the place of idle ones, never of one whose request is under way', async () => {
    let letGo: () => void = () => undefined
    const small = await listen(
      (req, res) => {
        if (req.url === '/held') letGo = () => res.end('let go')
        else res.end('fine')
      },
      {
        name: 'a small one',
        host: '127.0.0.1',
        port: 0,
        portSetting: 'none',
        closeTimeoutMs: 100,
        connectionsMax: 8,
        idleGiveWay: true,
      },
    )
    const openTo = async (localAddress: string) => {
      const socket = connect({ port: small.port, host: '127.0.0.1', localAddress })
      const state = { socket, got: '', isClosed: false }
      socket
        .setEncoding('latin1')
        .on('data', (text: string) => (state.got += text))
        .on('error', () => undefined)
        .on('close', () => (state.isClosed = true))
      await once(socket, 'connect')
      return state
    }
    const ask = async (from: Awaited<ReturnType<typeof openTo>>, path = '/') => {
      from.got = ''
      from.socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      if (path === '/') await until(() => Promise.resolve(from.got.endsWith('fine')))
    }
    const busy = await openTo('127.0.0.9')
    await ask(busy, '/held')
    const client = await openTo('127.0.0.8')
    await ask(client)
    // Two addresses hold all other connections: some never sent a byte, some a part of a request, some a whole one.
    const held: Awaited<ReturnType<typeof openTo>>[] = []
    for (let n = 0; n < 30; n++) {
      const one = await openTo(n % 2 === 0 ? '127.0.0.1' : '127.0.0.2')
      if (n % 3 === 0) one.socket.write('GET / HTTP/1.1\r\nHost')
      if (n % 3 === 1) await ask(one)
      held.push(one)
    }
    await until(() => Promise.resolve(held.filter(({ isClosed }) => isClosed).length === 24))
    expect(held.slice(-6).every(({ isClosed }) => !isClosed)).to.equal(true) // the oldest ones have gone
    const late = await openTo('127.0.0.3')
    await ask(late)
    expect([client.isClosed, busy.isClosed]).to.deep.equal([false, false])
    await ask(client)
    letGo()
    await until(() => Promise.resolve(busy.got.endsWith('let go')))
    await ask(busy)
    for (const { socket } of [busy, client, late, ...held]) socket.destroy()
    await small.close()
  })

  it('turns away a connection when each of the address has a request under way', async () => {
    const held: (() => void)[] = []
    const small = await listen((_req, res) => held.push(() => res.end('fine')), {
      name: 'a small one',
      host: '127.0.0.1',
      port: 0,
      portSetting: 'none',
      closeTimeoutMs: 100,
      connectionsMax: 4,
      idleGiveWay: true,
    })
    const sockets = [1, 2].map(() => connect(small.port, '127.0.0.1').on('error', () => undefined))
    for (const socket of sockets) socket.write(GOOD)
    await until(() => Promise.resolve(held.length === 2))
    const third = connect(small.port, '127.0.0.1')
    const [answer] = (await once(third.setEncoding('latin1'), 'data')) as [string]
    expect(answer).to.match(/^HTTP\/1\.1 503 /)
    for (const socket of sockets) socket.destroy()
    await small.close()
  })

  /** Sends raw text, and returns the answer up to this ending or the end of the connection. */
  async function answerTo(text: string, ending: string): Promise<string> {
    const { socket, got } = await open()
    let isClosed = false
    socket.on('close', () => (isClosed = true)).on('error', () => undefined)
    socket.write(text)
    await until(() => Promise.resolve(got().endsWith(ending) || isClosed))
    socket.destroy()
    return got()
  }

  it('takes a target with a host in it, as clients of a proxy send it, before the header Host', async () => {
    for (const [target, told] of [
      ['http://api.example/told?limit=1', 'told /told?limit=1 of api.example'],
      ['HTTP://Api.example:8080/told', 'told /told of Api.example:8080'],
      ['https://[::1]:8080/told', 'told /told of [::1]:8080'],
      ['/told', 'told /told of x'],
      ['/told//a', 'told /told//a of x'],
      ['http://api.example/told/http://x/', 'told /told/http://x/ of api.example'],
    ] as const)
      expect(await answerTo(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, told), target).to.match(
        /^HTTP\/1\.1 200 /,
      )
    for (const target of ['http://api.example', 'http://api.example?limit=1'])
      expect(await answerTo(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 'fine'), target).to.match(
        /^HTTP\/1\.1 200 /,
      )
  })

  it('refuses any other target in words, and leaves * to what answers', async () => {
    const words = 'the target of the request is neither a path nor a URL in HTTP'
    for (const target of [
      ...['ftp://api.example/told', 'http:///told', 'http://me@api.example/told', 'x://a/'],
      // Express would read these as /v2/told.
      ...['http://api.example/v2/told#x', '/v2/told#', '/v2\\told#'],
    ])
      expect(await answerTo(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, words), target).to.match(
        /^HTTP\/1\.1 400 /,
      )
    const answer = await answerTo('OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', 'fine')
    expect(answer).to.match(/^HTTP\/1\.1 200 /)
  })

  describe('asked whether a body may be sent', () => {
    const head = (path: string, length: number, more = '') =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n` +
      `Content-Length: ${length}\r\n${more}\r\n`

    it('says so when the body is going to be read, and keeps the connection', async () => {
      const { socket, got } = await open()
      socket.write(head('/reads', 4))
      await until(() => Promise.resolve(got().includes('\r\n\r\n')))
      expect(got()).to.equal('HTTP/1.1 100 Continue\r\n\r\n')
      socket.write('1234')
      await until(() => Promise.resolve(got().endsWith('read 4')))
      expect(got()).not.to.match(/connection: close/i)
      socket.write(head('/reads', 2))
      await until(() => Promise.resolve(got().split('100 Continue').length === 3))
      socket.write('12')
      await until(() => Promise.resolve(got().endsWith('read 2')))
      socket.destroy()
    })

    it('answers at once when the body is not wanted, and closes: a body or a request may come next', async () => {
      for (const [sent, ending, status] of [
        [head('/refuses', 4), 'who are you', 401],
        [head('/reads', BYTES_MAX + 1), 'the body is larger than 1000 bytes', 413],
        [head('/reads', 4, 'Content-Encoding: br\r\n'), 'only gzip is supported', 415],
        [head('/elsewhere', 4), 'fine', 200],
      ] as const) {
        const answer = await answerTo(sent, ending)
        expect(answer).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
        expect(answer).to.match(/connection: close/i)
        expect(answer).not.to.contain('100 Continue')
      }
    })

    it('says so for a body in gzip, too', async () => {
      const { socket, got } = await open()
      const body = gzipSync('{"a":1}')
      socket.write(head('/reads', body.length, 'Content-Encoding: gzip\r\n'))
      await until(() => Promise.resolve(got().endsWith('100 Continue\r\n\r\n')))
      socket.write(body)
      await until(() => Promise.resolve(got().endsWith('read 7')))
      socket.destroy()
    })
  })
})
