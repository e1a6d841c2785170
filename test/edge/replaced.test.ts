import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Nginx, startNginx } from '../support/nginx.ts'
import { requirePrograms } from '../support/programs.ts'

/** Longer than nginx passes over a gateway that was away: more than one second, and it counts whole ones. */
const SERVES_MS = 2_200

async function startGateway(port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer((req, res) => {
    req.resume().on('end', () => res.writeHead(202).end())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

async function stop({ server }: { server: Server }): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

describe('gateways that are replaced one after the other, behind nginx alone', function () {
  this.timeout(20_000)
  let nginx: Nginx | undefined
  let gateways: Awaited<ReturnType<typeof startGateway>>[] = []

  before(async function () {
    requirePrograms(this, 'REQUIRE_NGINX', [['nginx', '-v']])
    gateways = [await startGateway(), await startGateway()]
    const urls = gateways.map(({ port }) => `http://127.0.0.1:${port}`)
    nginx = await startNginx(urls, 'http://127.0.0.1:1')
  })
  after(async () => {
    await nginx?.stop()
    await Promise.all(gateways.map(stop))
  })

  it('cost no report an answer, although each of them was away a moment ago', async () => {
    const report = () => fetch(`${nginx?.url ?? ''}/v2/events`, { method: 'POST', body: 'x' })
    for (const n of [0, 1]) {
      const gateway = gateways[n] ?? (await startGateway())
      await stop(gateway)
      for (let sent = 0; sent < 8; sent++) expect((await report()).status).to.equal(202)
      gateways[n] = await startGateway(gateway.port)
      await sleep(SERVES_MS)
    }
  })
})
