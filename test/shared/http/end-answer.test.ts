import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { answerText } from '../../../shared/http/answer-text.ts'
import { type HttpServer, listen } from '../../../shared/http/http-server.ts'
import { until } from '../../support/until.ts'

const MIB = 1_024 * 1_024

describe('an answer that is given before the body is read', () => {
  let server: HttpServer
  let client: Socket
  let received: string
  let isClosed: boolean
  before(async () => {
    server = await listen(
      (req, res) => {
        answerText(res, 413, `no ${req.url ?? ''}`)
      },
      { name: 'a test', portSetting: 'PORT', host: '127.0.0.1', port: 0, closeTimeoutMs: 100 },
    )
  })
  after(() => server.close())
  beforeEach(async () => {
    client = connect(server.port, '127.0.0.1')
    received = ''
    isClosed = false
    client.on('data', (chunk) => (received += chunk.toString()))
    client.on('error', () => undefined)
    client.on('close', () => (isClosed = true))
    await once(client, 'connect')
  })
  afterEach(() => client.destroy())

  const send = (path: string, header: string) =>
    client.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`)
  const answered = (path: string) => until(() => Promise.resolve(received.endsWith(`no ${path}`)))

  it('leaves the connection open when the rest is short, however slowly it comes', async () => {
    send('/first', `content-length: ${MIB}`)
    await answered('/first')
    await sleep(1_500)
    client.write('x'.repeat(MIB))
    send('/second', 'content-length: 0')
    await answered('/second')
    expect(received).to.not.match(/connection: close/i)
    expect(isClosed).to.equal(false)
  })

  for (const [length, header] of [
    ['a long rest', `content-length: ${5 * MIB}`],
    ['a rest of unknown length', 'transfer-encoding: chunked'],
  ] as const)
    it(`says that the connection closes after ${length}, and closes it once that was read`, async () => {
      send('/first', header)
      await answered('/first')
      expect(received).to.match(/connection: close/i)
      expect(isClosed).to.equal(false)
      client.write(header.startsWith('content') ? 'x'.repeat(5 * MIB) : '5\r\nhello\r\n0\r\n\r\n')
      await until(() => Promise.resolve(isClosed))
    })

  it('does not wait long for the rest', async () => {
    send('/first', `content-length: ${5 * MIB}`)
    await answered('/first')
    await sleep(500)
    expect(isClosed).to.equal(false)
    await until(() => Promise.resolve(isClosed))
  })

  it('does not read without end', async () => {
    send('/first', 'transfer-encoding: chunked')
    await answered('/first')
    const chunk = `${MIB.toString(16)}\r\n${'x'.repeat(MIB)}\r\n`
    let written = 0
    while (!isClosed && written < 200) {
      if (!client.write(chunk))
        await Promise.race([once(client, 'drain'), once(client, 'close')]).catch(() => undefined)
      written += 1
    }
    expect(isClosed).to.equal(true)
    expect(written).to.be.lessThan(60)
  })

  it('leaves the connection open when nothing follows', async () => {
    send('/first', 'content-length: 0')
    await answered('/first')
    send('/second', 'content-length: 0')
    await answered('/second')
  })
})
