import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { isForGateway } from '../../../services/standalone/dispatch.ts'
import { listOperations, readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import { type Nginx, startNginx } from '../../support/nginx.ts'
import { requirePrograms } from '../../support/programs.ts'

/** A server that answers with its name, and with the target as it came. */
async function named(name: string): Promise<Server> {
  const server = createServer((req, res) => {
    req.resume()
    req.on('end', () => res.end(`${name} ${req.url ?? ''}`))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

describe('the example for nginx of docs/operations.md', () => {
  let servers: Server[] = []
  let nginx: Nginx | undefined

  before(async function () {
    requirePrograms(this, 'REQUIRE_NGINX', [['nginx', '-v']])
    servers = [await named('gateway'), await named('api')]
    const [gateway = '', api = ''] = servers.map(urlOf)
    nginx = await startNginx(gateway, api)
  })
  after(async () => {
    await nginx?.stop()
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  })

  it('sends every operation, and the console, to the service that has it', async () => {
    const operations = listOperations(readOpenApiDocument()).map(({ method, path }) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, 'a%2Fb'),
    }))
    const others = [
      '/',
      '/console',
      '/console/events/event_1',
      '/console/assets/a.js',
      '/docs',
      '/v2/eventsx',
    ]
    const targets = [
      ...operations.flatMap(({ method, path }) =>
        ['', '/', '?a=b'].map((end) => ({ method, target: path + end })),
      ),
      ...others.flatMap((target) => ['GET', 'POST'].map((method) => ({ method, target }))),
    ]
    expect(targets.length).to.be.above(200)
    const wrong: string[] = []
    for (const { method, target } of targets) {
      const body = method === 'GET' ? {} : { body: '{}' }
      const answer = await (await fetch((nginx?.url ?? '') + target, { method, ...body })).text()
      const meant = `${isForGateway(method, target) ? 'gateway' : 'api'} ${target}`
      if (answer !== meant) wrong.push(`${method} ${target}: ${answer}`)
    }
    expect(wrong).to.deep.equal([])
  })
})
