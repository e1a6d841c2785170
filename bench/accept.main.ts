import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that accepts every batch of usage, and does nothing else. */
const server = createServer((req, res) => {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    if (req.url === '/v2/events/batch') {
      const { events } = JSON.parse(Buffer.concat(chunks).toString()) as { events: unknown[] }
      answer(202, { accepted: events.length, event_ids: [] })
    } else answer(200, { company: { id: 'bench' } })
  })
  const answer = (status: number, body: object) =>
    res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
})
server.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port)
})
