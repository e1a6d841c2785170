import { randomBytes, randomUUID } from 'node:crypto'
import { PLACEHOLDER, TIME_PLACEHOLDER } from './send-load.ts'
import { tallyClient } from './tally-client.ts'

/** The accounts and metrics of reported usage. */
export interface References {
  accounts: string[]
  metrics: string[]
}

const ACCOUNTS = 50
const METRICS = 3
/** The number of concurrent requests that make them. */
const AT_ONCE = 16
/** The number of different bodies, so that a repeated body does not make the server faster. */
const BODIES = 64
const MODELS = ['small', 'medium', 'large']
const REGIONS = ['eu', 'us', 'ap']

export async function makeReferences(
  tally: { url: string; key: string },
  accounts = ACCOUNTS,
): Promise<References> {
  const client = tallyClient(tally, AT_ONCE)
  const make = (resource: string, count: number, fieldsOf: (n: number) => object = () => ({})) =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const body = { name: `${resource} ${n}`, ...fieldsOf(n) }
        const { id } = await client.create<{ id: string }>(`/v2/${resource}`, body)
        return id
      }),
    )
  const counted = (n: number) => ({ event_type: eventTypeOf(n), event_quantity: 'quantity' })
  try {
    return { accounts: await make('accounts', accounts), metrics: await make('metrics', METRICS, counted) }
  } finally {
    client.close()
  }
}

/** The type of CloudEvents that become usage of a metric. */
const eventTypeOf = (metric: number): string => `bench.${metric}`

/** A body, and the usage that it reports each time it is sent. */
export interface UsageBody {
  bytes: Buffer
  events: MadeUpEvent[]
}

interface MadeUpEvent {
  account_id: string
  metric_id: string
  quantity: string
}

/**
 * Makes bodies of one event or of a batch. Events have three properties, of which one is unique in each request.
 *
 * @param keyed whether each event has a time and a key, so that it can be sent again; otherwise it has neither
 */
export function makeBodies({ accounts, metrics }: References, batch: number, keyed = false): UsageBody[] {
  const makeEvent = (): MadeUpEvent => ({
    account_id: pick(accounts),
    metric_id: pick(metrics),
    quantity: anyQuantity(),
  })
  const toJson = (event: MadeUpEvent): string => {
    const json = JSON.stringify({
      ...event,
      properties: anyProperties(),
      ...(keyed ? { idempotency_key: unique() } : {}),
    })
    return keyed ? `${json.slice(0, -1)},"occurred_at":${TIME_PLACEHOLDER}}` : json
  }
  return Array.from({ length: BODIES }, () => {
    const events = Array.from({ length: batch }, makeEvent)
    const texts = events.map(toJson)
    const [only = ''] = texts
    return { events, bytes: Buffer.from(batch === 1 ? only : `{"events":[${texts.join(',')}]}`) }
  })
}

/** Makes bodies of batches of CloudEvents. Each becomes one event, with the properties of those of makeBodies. */
export function makeCloudEvents({ accounts, metrics }: References, batch: number): Buffer[] {
  const time = new Date().toISOString()
  const makeEvent = () => ({
    specversion: '1.0',
    id: unique(),
    source: '/bench',
    type: eventTypeOf(randomBytes(4).readUInt32LE() % metrics.length),
    time,
    subject: pick(accounts),
    data: { quantity: anyQuantity(), ...anyProperties() },
  })
  return Array.from({ length: BODIES }, () =>
    Buffer.from(JSON.stringify(Array.from({ length: batch }, makeEvent))),
  )
}

const pick = <T>(list: readonly T[]): T => list[randomBytes(4).readUInt32LE() % list.length] as T
/** Another text in each request. */
const unique = () => `${randomUUID().slice(0, -PLACEHOLDER.length)}${PLACEHOLDER}`
const anyQuantity = () => `${randomBytes(2).readUInt16BE()}.${randomBytes(1).readUInt8()}`
const anyProperties = () => ({ model: pick(MODELS), region: pick(REGIONS), request: unique() })
