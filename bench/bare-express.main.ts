import type { AddressInfo } from 'node:net'
import express from 'express'

/** A handler that parses bodies and does nothing else: the cost of Express itself. */
const app = express()
app.use(express.json({ limit: '4mb' }))
app.post(['/v2/events', '/v2/events/batch'], (_req, res) => {
  res.status(202).json({ accepted: 1 })
})
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port)
})
