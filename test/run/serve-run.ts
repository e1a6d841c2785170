import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startBroker } from '../support/kafka.ts'
import { startPostgresServer } from '../support/postgres.ts'
import { startRunApi } from '../support/start-api.ts'
import { startRunTally } from '../support/tally-under-test.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { RUN_FOLDER, RUN_URL, type RunEngines } from './ask-run.ts'
import { startClock } from './file-times.ts'
import type { Shared } from './shared-engine.ts'

const MAKERS: { [Name in keyof RunEngines]: () => Promise<Shared<RunEngines[Name]>> } = {
  postgres: async () => {
    const server = await startPostgresServer()
    const { superuserUrl, ownerUrl, serviceUrl, template } = server
    return { facts: { superuserUrl, ownerUrl, serviceUrl, template }, end: () => server.close() }
  },
  kafka: async () => {
    const broker = await startBroker()
    return { facts: { brokers: broker.brokers }, end: () => broker.stop() }
  },
  tally: startRunTally,
  api: startRunApi,
}

/** Engines that other engines need, and that must end after these. */
const SERVERS: readonly string[] = ['kafka', 'postgres']

/** A test run, whose engines are started when the first of its processes asks for them. */
export interface Run {
  folder: string
  /** Ends all engines that were started. @returns the processor time of each, in milliseconds */
  end(keepFolder: boolean): Promise<[name: string, processorMs: number][]>
}

/** Begins a test run: this process and its children then share engines through `askRun`. */
export async function serveRun(): Promise<Run> {
  const folder = await makeTempFolder('run')
  const started = new Map<string, Promise<Shared<unknown>>>()
  const get = (name: string) => {
    const engine = started.get(name) ?? make(name)
    started.set(name, engine)
    return engine
  }
  const server = createServer((req, res) => {
    const [, name = '', part] = (req.url ?? '').split('/')
    get(name).then(
      ({ facts, output }) => res.end(part === 'output' ? output?.() : JSON.stringify(facts)),
      (err: unknown) => res.writeHead(503).end(err instanceof Error ? err.message : String(err)),
    )
  })
  server.requestTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.env[RUN_FOLDER] = folder
  process.env[RUN_URL] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    folder,
    async end(keepFolder) {
      server.close()
      server.closeAllConnections()
      const names = [...started.keys()].filter((name) => !SERVERS.includes(name))
      const times: [string, number][] = []
      for (const name of [...names, ...SERVERS.filter((server) => started.has(server))]) {
        const clock = startClock()
        await (await started.get(name)?.catch(() => undefined))?.end()
        times.push([name, clock().processorMs])
      }
      if (!keepFolder) await rm(folder, { recursive: true, force: true })
      return times
    },
  }
}

function make(place: string): Promise<Shared<unknown>> {
  const [name = ''] = place.split('-')
  if (!Object.hasOwn(MAKERS, name)) return Promise.reject(new Error(`a run has no ${name}`))
  return MAKERS[name as keyof RunEngines]()
}
