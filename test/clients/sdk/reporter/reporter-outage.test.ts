import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { expect } from 'chai'
import { endChild } from '../../../support/end-child.ts'
import { IS_LONG, tell } from '../../../support/fault-seed.ts'
import { makeTempFolder } from '../../../support/temp-folder.ts'
import { until } from '../../../support/until.ts'
import { ACCOUNT, METRIC } from './fake-tally.ts'
import { startReporter } from './reporter-process.ts'

const PER_SECOND = 5_000
const OUTAGE_MS = IS_LONG ? 600_000 : 4_000
const WAVE = 500
const EVENTS = (PER_SECOND * OUTAGE_MS) / 1_000
const MEMORY_MAX_MB = 150

describe('a reporter during an outage', function () {
  this.timeout(3 * OUTAGE_MS + 120_000)
  let dir: string
  let server: Server
  let url: string
  let isAway = true
  /** How often the event of each number was accepted. */
  const counts = new Uint8Array(EVENTS)

  before(async () => {
    dir = await makeTempFolder('outage')
    server = createServer((req, res) => {
      const answer = async () => {
        const text = Buffer.concat((await req.toArray()) as Buffer[]).toString()
        if (req.url === '/v2/caller') return res.end('{"company":{"id":"company-1"}}')
        if (isAway) return res.writeHead(503).end('away')
        let accepted = 0
        for (const [, n] of text.matchAll(/"idempotency_key":"run-(\d+)"/g)) {
          counts[Number(n)] = (counts[Number(n)] ?? 0) + 1
          accepted++
        }
        return res.writeHead(202).end(JSON.stringify({ accepted, event_ids: [] }))
      }
      answer().catch(() => req.socket.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  })
  after(async () => {
    server.close()
    server.closeAllConnections()
    await rm(dir, { recursive: true })
  })

  it('keeps events on the disk and not in memory, and then sends each once', async function () {
    if (process.platform !== 'linux') this.skip()
    const { child, tried, output } = startReporter({
      url,
      apiKey: 'tally_live_key',
      options: { spool: { dir } },
      timings: { listMs: 10_000, deadMs: 60_000, mergeMs: 60_000 },
      event: { account: ACCOUNT, metric: METRIC, quantity: '1' },
      run: 'run',
      events: EVENTS,
      wave: WAVE,
      pauseMs: (1_000 * WAVE) / PER_SECOND,
      end: 'wait',
      adds: true,
    })
    await until(() => Promise.resolve(tried.size === EVENTS), 2 * OUTAGE_MS + 60_000)
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
    const megabytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
    isAway = false
    const startedAt = performance.now()
    const sent = () => counts.reduce((sum, count) => sum + Math.min(count, 1), 0)
    await until(() => Promise.resolve(sent() === EVENTS), OUTAGE_MS + 60_000)
    const rate = Math.round(EVENTS / ((performance.now() - startedAt) / 1_000))
    tell(`${Math.round(megabytes)} MB at most, afterwards ${rate} events a second`)
    await endChild(child, 'SIGKILL')
    expect(megabytes, output()).to.be.lessThan(MEMORY_MAX_MB)
    expect(Math.max(...counts.subarray(0, 100_000))).to.equal(1)
  })
})
