import { randomBytes, randomUUID } from 'node:crypto'
import { PLACEHOLDER } from './send-load.ts'
import type { Subject } from './subjects.ts'

/** What reported usage refers to. */
export interface References {
  accounts: string[]
  metrics: string[]
}

const ACCOUNTS = 50
const METRICS = 3
/** Different bodies in turn, so that nothing is faster for being the same each time. */
const BODIES = 64
const MODELS = ['small', 'medium', 'large']
const REGIONS = ['eu', 'us', 'ap']

export async function makeReferences({ apiUrl, key }: Subject): Promise<References> {
  const create = async (resource: string, name: string): Promise<string> => {
    const response = await fetch(`${apiUrl}/v2/${resource}`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    })
    return ((await response.json()) as { id: string }).id
  }
  const make = (resource: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, n) => create(resource, `${resource} ${n}`)))
  return { accounts: await make('accounts', ACCOUNTS), metrics: await make('metrics', METRICS) }
}

/** Bodies of one event, or of batches; events have three properties, of which one is unique once it is sent, and no key. */
export function makeBodies({ accounts, metrics }: References, batch: number): Buffer[] {
  const pick = <T>(list: readonly T[]): T => list[randomBytes(1).readUInt8() % list.length] as T
  const event = () => ({
    account_id: pick(accounts),
    metric_id: pick(metrics),
    quantity: `${randomBytes(2).readUInt16BE()}.${randomBytes(1).readUInt8()}`,
    properties: {
      model: pick(MODELS),
      region: pick(REGIONS),
      request: `${randomUUID().slice(0, -PLACEHOLDER.length)}${PLACEHOLDER}`,
    },
  })
  return Array.from({ length: BODIES }, () =>
    Buffer.from(JSON.stringify(batch === 1 ? event() : { events: Array.from({ length: batch }, event) })),
  )
}
