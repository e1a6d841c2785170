import type { Client } from '../client.ts'
import type { Schema } from '../contract.ts'
import { POLL_MS, type Reading, reading } from './reading.ts'

export const callerReading = (client: Client): Reading<Schema<'Caller'>> =>
  reading(client, '/v2/caller', {}, {}, { staleMs: 0, pollMs: POLL_MS })
