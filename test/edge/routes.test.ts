import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, createServer, type IncomingMessage, request as sendRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { load } from 'js-yaml'
import { isForGateway } from '../../services/standalone/dispatch.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { listOperations, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { type Nginx, startNginx } from '../support/nginx.ts'
import { requirePrograms } from '../support/programs.ts'

/** A server that answers with the target as it came, and with its name in a header. */
async function named(name: string): Promise<Server> {
  const server = createServer((req, res) => {
    req.resume()
    res.setHeader('X-Name', name)
    req.on('end', () => res.end(req.url))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** What a matcher that decodes, folds or merges would take for a path of reports, or not. */
const mutation = fc.constantFrom<(target: string, at: number) => string>(
  (target, at) => `${target.slice(0, at)}/${target.slice(at)}`,
  (target, at) => `${target.slice(0, at)};${target.slice(at)}`,
  (target, at) => `${target.slice(0, at)}.${target.slice(at)}`,
  (target, at) => `${target.slice(0, at)}?${target.slice(at)}`,
  (target, at) => `${target.slice(0, at)}${target.charAt(at).toUpperCase()}${target.slice(at + 1)}`,
  (target, at) => `${target.slice(0, at)}${encoded(target.charAt(at))}${target.slice(at + 1)}`,
  (target) => `${target}/`,
  (target) => `${target}?a=/v2/events`,
)

const encoded = (char: string): string => `%${Buffer.from(char || '/').toString('hex')}`

const request = fc
  .record({
    method: fc.constantFrom(
      ...['POST', 'POST', 'POST', 'PATCH', 'PATCH', 'GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
    ),
    path: fc.constantFrom(
      ...['/v2/events', '/v2/events/batch', '/v2/events/event_1/void', '/v2/test/seed', '/v2/accounts'],
      ...['/openmeter/api/v1/events', '/v2/eventsx', '/'],
    ),
    mutations: fc.array(fc.record({ mutate: mutation, at: fc.double({ min: 0, max: 1, noNaN: true }) }), {
      maxLength: 3,
    }),
  })
  .map(({ method, path, mutations }) => ({
    method,
    target: mutations.reduce(
      // The first slash stays, or else the target were no path.
      (target, { mutate, at }) => mutate(target, 1 + Math.floor(at * (target.length - 1))),
      path,
    ),
  }))

const meantFor = (method: string, target: string) => (isForGateway(method, target) ? 'gateway' : 'api')

const OPERATIONS = listOperations(readOpenApiDocument()).map(({ method, path }) => ({
  method: method.toUpperCase(),
  target: path.replaceAll(/\{\w+\}/g, 'a%2Fb'),
}))

describe('the settings of deploy/nginx', () => {
  let servers: Server[] = []
  let nginx: Nginx | undefined
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })

  before(async function () {
    requirePrograms(this, 'REQUIRE_NGINX', [['nginx', '-v']])
    servers = [await named('gateway'), await named('api')]
    const [gateway = '', api = ''] = servers.map(urlOf)
    nginx = await startNginx(gateway, api)
  })
  after(async () => {
    agent.destroy()
    await nginx?.stop()
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  })

  /** Who answered, and the target as it came. */
  const ask = async (method: string, target: string): Promise<string> => {
    const { hostname, port } = new URL(nginx?.url ?? '')
    const [answer] = (await once(
      sendRequest({ hostname, port, method, path: target, agent }).end(),
      'response',
    )) as [IncomingMessage]
    const body = await text(answer)
    return String(answer.headers['x-name'] ?? `${answer.statusCode ?? 0} of nginx`) + (body && ` ${body}`)
  }
  /** Those that came elsewhere. nginx itself refuses paths above the root, and bytes that are encoded wrongly. */
  const wrongOf = async (targets: readonly { method: string; target: string }[]) => {
    const wrong: string[] = []
    const left = targets.values()
    const lane = async () => {
      for (const { method, target } of left) {
        const answer = await ask(method, target)
        const meant = meantFor(method, target) + (method === 'HEAD' ? '' : ` ${target}`)
        const isRefused = answer.startsWith('400 of nginx') && /\/\.\.|%(?![0-9a-f]{2})/i.test(target)
        if (answer !== meant && !isRefused) wrong.push(`${method} ${target}: ${answer}`)
      }
    }
    await Promise.all(Array.from({ length: 8 }, lane))
    return wrong
  }

  it('send every operation, and the console, to the service that has it', async () => {
    const others = [
      '/',
      '/console',
      '/console/events/event_1',
      '/console/assets/a.js',
      '/docs',
      '/v2/eventsx',
    ]
    const targets = [
      ...OPERATIONS.flatMap(({ method, target }) =>
        ['', '/', '?a=b'].map((end) => ({ method, target: target + end })),
      ),
      ...others.flatMap((target) => ['GET', 'POST'].map((method) => ({ method, target }))),
    ]
    expect(targets.length).to.be.above(200)
    expect(await wrongOf(targets)).to.deep.equal([])
  })

  it('agree with npm start on random methods and paths', async () => {
    const targets = fc.sample(request, { numRuns: 5_000, seed: 43 })
    const forGateway = targets.filter(({ method, target }) => isForGateway(method, target))
    expect(forGateway.length).to.be.within(300, 3_000)
    expect(await wrongOf(targets)).to.deep.equal([])
  })
})

describe('the routes of deploy/examples/http-route.yaml', () => {
  it('send every operation to the service that has it', async () => {
    const file = await readFile(path.join(PROJECT_ROOT, 'deploy/examples/http-route.yaml'), 'utf8')
    const { spec } = load(file) as {
      spec: {
        rules: {
          matches?: { method: string; path: { type: string; value: string } }[]
          backendRefs: { name: string }[]
        }[]
      }
    }
    for (const { method, target } of OPERATIONS) {
      const rule = spec.rules.find(
        ({ matches }) =>
          matches?.some(
            ({ method: wanted, path: { type, value } }) =>
              wanted === method &&
              (target === value || (type === 'PathPrefix' && target.startsWith(`${value}/`))),
          ) ?? true,
      )
      expect(rule?.backendRefs[0]?.name, `${method} ${target}`).to.equal(`tally-${meantFor(method, target)}`)
    }
  })
})
