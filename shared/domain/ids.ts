import { randomUUID } from 'node:crypto'
import { randomHex } from './random-hex.ts'

/** The kinds of resource whose ids are a prefix and 32 lowercase hexadecimal digits. */
export type IdPrefix =
  'account' | 'metric' | 'grant' | 'event' | 'product' | 'price' | 'rate_card' | 'rate' | 'contract_line'

/** A new id of 128 random bits, for example `account_9f…`. Event ids are not random: see usageEventId. */
export const newId = (prefix: Exclude<IdPrefix, 'event'>): string => `${prefix}_${randomHex(16)}`

/** A new id of a customer, contract, company, namespace or key: a UUID. */
export const newUuid = (): string => randomUUID()

export const EVENT_ID_PATTERN = /^event_[0-9a-f]{32}$/
export const METRIC_ID_PATTERN = /^metric_[0-9a-f]{32}$/
