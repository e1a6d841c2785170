import type { SchemaOf } from '../../shared/http/operation.ts'
import type { KeyedKind } from './keyed-model.ts'

/** A key on a route, in one history. */
export interface KeySlot {
  /** A name that is unique among the slots of all histories. */
  name: string
  /** The name as a number. */
  number: number
  /** The resources of its history, each made when it is first used. */
  thing: (kind: ThingKind, which: string) => Promise<string>
  /** The two contents that are sent with the key. */
  contents: readonly Content[]
}

export type ThingKind = 'account' | 'metric' | 'product' | 'price' | 'card' | 'contract' | 'api key'

/** The form of the events of a content. */
export interface Content {
  /** Whether events have a time. */
  isTimed: boolean
  /** Whether events have their own keys. */
  isOwned: boolean
}

/** The fields of an entry of the trail that the test reads. */
export type TrailEntry = Pick<SchemaOf<'AuditEntry'>, 'action' | 'resource_id' | 'changes'>

/** A route that accepts the header. */
export interface KeyedRoute {
  name: string
  kind: KeyedKind
  /** Whether only test companies may use it. */
  isForTests?: true
  target: (slot: KeySlot) => Promise<string>
  /** @param content the number of one of the slot's contents, or of another one that is always refused */
  body: (slot: KeySlot, content: number) => Promise<object>
  /** Whether all requests have the same content. */
  hasOneContent?: true
  /** Fields that make a well-formed body fail because of the present state; undefined if there are none. */
  impossible?: object
  /** The id in an answer of 200 or 202, which a repeat names. */
  idOf: (answer: Record<string, unknown>) => string
  /** The text that identifies the trail entry of a slot and content; undefined for reports. */
  sign?: (slot: KeySlot, content: number) => Promise<string>
  /** The identifying text of an entry, if the entry is of this route. */
  signOf?: (entry: TrailEntry) => string | undefined
  /** The name that a repeat of an entry's request contains. */
  namedBy?: (entry: TrailEntry) => string
}

const NO_ID = '0'.repeat(32)
/** The time of usage with a time. It is the same on all routes, so that their events could collide. */
const OCCURRED_AT = Math.floor(Date.now() / 1_000) - 100

/** The events of a content. */
async function eventsOf(slot: KeySlot, content: number, count: number): Promise<object[]> {
  const account = await slot.thing('account', 'of all')
  const metric = await slot.thing('metric', 'of all')
  const { isTimed, isOwned } = slot.contents[content] ?? { isTimed: true, isOwned: false }
  return Array.from({ length: count }, (_, n) => ({
    account_id: account,
    ...(n % 2 === 0 ? { metric_id: metric } : { currency: 'usd' }),
    quantity: `${n + 1}.${content + 1}`,
    ...(isTimed || isOwned ? { occurred_at: OCCURRED_AT } : {}),
    ...(isOwned ? { idempotency_key: `${slot.name} own ${n}` } : {}),
    properties: { slot: slot.name, content, n, tags: { b: 1, a: [1, { d: 1, c: 2 }] } },
  }))
}

const mark = (slot: KeySlot, content: number): string => `${slot.name} content ${content}`
const idOf = ({ id }: Record<string, unknown>): string => String(id)

/** A route that creates a resource with a unique name or description. */
function creating(
  path: string,
  action: string,
  field: 'name' | 'description',
  rest: (slot: KeySlot, content: number) => Promise<object> | object = () => ({}),
  impossible?: object,
): KeyedRoute {
  return {
    name: `POST ${path}`,
    kind: 'change',
    target: () => Promise.resolve(path),
    body: async (slot, content) => ({ ...(await rest(slot, content)), [field]: mark(slot, content) }),
    ...(impossible === undefined ? {} : { impossible }),
    idOf,
    sign: (slot, content) => Promise.resolve(`${action} ${mark(slot, content)}`),
    signOf: (entry) => (entry.action === action ? `${action} ${String(entry.changes[field])}` : undefined),
  }
}

/** A route that changes one of two resources of a kind. Each history has its own. */
function changing(
  verb: string,
  thing: ThingKind,
  action: string,
  which: string,
  body: (slot: KeySlot, content: number) => Promise<object> | object,
  told: {
    sign: (slot: KeySlot, content: number) => Promise<string> | string | number
    of: (changes: TrailEntry['changes']) => unknown
  },
  impossible?: object,
): KeyedRoute {
  const collection =
    { card: 'rate-cards', contract: 'contracts', 'api key': 'api-keys' }[thing as string] ?? ''
  const idOfThing = (slot: KeySlot) => slot.thing(thing, which === 'own' ? slot.name : which)
  return {
    name: `POST /v2/${collection}/${which}/${verb}`,
    kind: 'change',
    target: async (slot) => `/v2/${collection}/${await idOfThing(slot)}/${verb}`,
    body: async (slot, content) => body(slot, content),
    ...(impossible === undefined ? {} : { impossible }),
    idOf,
    sign: async (slot, content) =>
      `${action} ${await idOfThing(slot)} ${String(await told.sign(slot, content))}`,
    signOf: ({ action: done, resource_id: id, changes }) =>
      done === action ? `${action} ${id} ${String(told.of(changes))}` : undefined,
  }
}

const firstOf = (list: unknown): Record<string, unknown> => (list as Record<string, unknown>[])[0] ?? {}
const numberOf = (slot: KeySlot, content: number): string => `${slot.number * 4 + content + 1}`

const changingContract = (which: string): KeyedRoute =>
  changing(
    'changes',
    'contract',
    'contract.changed',
    which,
    (slot, content) => ({ add: [{ credit: { amount: numberOf(slot, content), currency: 'usd' } }] }),
    {
      sign: numberOf,
      of: ({ add }) => (firstOf(add)['credit'] as Record<string, unknown> | undefined)?.['amount'],
    },
    { end: [`contract_line_${NO_ID}`] },
  )
const canceling = (which: string): KeyedRoute =>
  changing(
    'cancel',
    'contract',
    'contract.canceled',
    which,
    (slot, content) => ({ mode: 'period_end', reason: mark(slot, content) }),
    { sign: mark, of: ({ reason }) => reason },
    { mode: 'at' },
  )
const changingCard = (which: string): KeyedRoute =>
  changing(
    'changes',
    'card',
    'rate_card.changed',
    which,
    async (slot, content) => ({ add: [{ price_id: await slot.thing('price', mark(slot, content)) }] }),
    {
      sign: (slot, content) => slot.thing('price', mark(slot, content)),
      of: ({ add }) => firstOf(add)['price_id'],
    },
    { add: [{ price_id: `price_${NO_ID}` }] },
  )

/** All routes that accept the header, some of them for two resources. */
export const KEYED_ROUTES: readonly KeyedRoute[] = [
  {
    name: 'POST /v2/events',
    kind: 'report',
    target: () => Promise.resolve('/v2/events'),
    body: async (slot, content) => (await eventsOf(slot, content, 1))[0] ?? {},
    idOf,
  },
  {
    name: 'POST /v2/events/batch',
    kind: 'report',
    target: () => Promise.resolve('/v2/events/batch'),
    body: async (slot, content) => ({ events: await eventsOf(slot, content, 3) }),
    idOf: ({ event_ids: ids }) => (ids as string[])[0] ?? '',
  },
  creating('/v2/customers', 'customer.created', 'name'),
  creating('/v2/accounts', 'account.created', 'name', undefined, {
    service_customer_id: '00000000-0000-0000-0000-000000000000',
  }),
  creating('/v2/metrics', 'metric.created', 'name'),
  creating('/v2/products', 'product.created', 'name'),
  creating(
    '/v2/prices',
    'price.created',
    'description',
    async ({ thing }) => ({
      product_id: await thing('product', 'of all'),
      currency: 'usd',
      model: 'flat',
      amount: '1',
    }),
    { product_id: `product_${NO_ID}` },
  ),
  creating(
    '/v2/grants',
    'grant.created',
    'description',
    async ({ thing }) => ({
      account_id: await thing('account', 'of all'),
      currency: 'usd',
      amount: '1',
      effective_at: 0,
    }),
    { account_id: `account_${NO_ID}` },
  ),
  creating('/v2/rate-cards', 'rate_card.created', 'name', () => ({ currency: 'usd' }), {
    rates: [{ price_id: `price_${NO_ID}` }],
  }),
  creating(
    '/v2/contracts',
    'contract.created',
    'name',
    async ({ thing }) => ({
      account_id: await thing('account', 'of all'),
      currency: 'usd',
      cadence: 'month',
    }),
    { account_id: `account_${NO_ID}` },
  ),
  {
    name: 'POST /v2/refill-configurations',
    kind: 'change',
    target: () => Promise.resolve('/v2/refill-configurations'),
    body: async ({ name, thing }, content) => ({
      account_id: await thing('account', 'of all'),
      metric_id: await thing('metric', name),
      minimum_balance: '1',
      target_balance: `${content + 2}`,
      is_active: false,
    }),
    impossible: { metric_id: `metric_${NO_ID}` },
    idOf: ({ account_id: accountId, metric_id: metricId }) => `${String(accountId)}/${String(metricId)}`,
    sign: async ({ name, thing }, content) =>
      `refill_configuration.created ${await thing('metric', name)} ${content + 2}`,
    signOf: ({ action, changes }) =>
      action === 'refill_configuration.created'
        ? `${action} ${String(changes['metric_id'])} ${String(changes['target_balance'])}`
        : undefined,
  },
  changingContract('A'),
  changingContract('B'),
  canceling('A'),
  canceling('B'),
  {
    ...changing('uncancel', 'contract', 'contract.uncanceled', 'own', () => ({}), {
      sign: () => '',
      of: () => '',
    }),
    hasOneContent: true,
  },
  changingCard('A'),
  changingCard('B'),
  {
    ...creating('/v2/api-keys', 'api_key.issued', 'name', () => ({ permissions: ['read:all'] })),
    idOf: ({ api_key: key }) => idOf(key as Record<string, unknown>),
  },
  {
    ...changing(
      'rotate',
      'api key',
      'api_key.rotated',
      'own',
      (_, content) => ({ overlap_seconds: 0, expires_at: 4_000_000_000 + content }),
      { sign: (_, content) => 4_000_000_000 + content, of: ({ expires_at: at }) => at },
    ),
    idOf: ({ api_key: key }) => idOf(key as Record<string, unknown>),
    namedBy: ({ changes }) => String(changes['replaced_by']),
  },
  {
    name: 'POST /v2/test/clock/advance',
    kind: 'change',
    isForTests: true,
    target: () => Promise.resolve('/v2/test/clock/advance'),
    body: (slot, content) => Promise.resolve({ seconds: Number(numberOf(slot, content)) }),
    idOf: () => '', // answers do not contain the company
    sign: (slot, content) => Promise.resolve(`company.clock_advanced ${numberOf(slot, content)}`),
    signOf: ({ action, changes }) =>
      action === 'company.clock_advanced' ? `${action} ${String(changes['seconds'])}` : undefined,
  },
]
