import { CallError } from '../api/call.ts'
import { type Client, useClient } from '../api/client.ts'
import type { Schema } from '../api/contract.ts'
import {
  accountByExternalIdReading,
  accountListing,
  accountReading,
  customerReading,
} from '../api/queries/accounts.ts'
import { contractReading } from '../api/queries/contracts.ts'
import { customerListing } from '../api/queries/customers.ts'
import { metricListing } from '../api/queries/sources.ts'
import { useRead, useReadAll, useReadList } from '../api/use-read.ts'
import { visibleText } from '../format/visible-text.ts'
import { type MenuEntry, menuOf } from './menu.ts'

/** Something that was found, which has a page. */
export type Find =
  | { kind: 'account' | 'customer' | 'metric' | 'contract' | 'event'; id: string; name: string }
  | { kind: 'page'; route: MenuEntry['route']; name: string }

export interface Findings {
  finds: readonly Find[]
  /** Whether all answers are those to this text. */
  isComplete: boolean
  error: Error | null
  again: () => void
}

const NOT_FOUND = 404
const ACCOUNT_ID = /^account_[0-9a-f]{32}$/
const METRIC_ID = /^metric_[0-9a-f]{32}$/
const EVENT_ID = /^event_[0-9a-f]{32}$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** So many of each kind are shown. The page of the kind has all. */
const SHOWN_MAX = 6

/**
 * Finds what has a text in its name or is named by an id: accounts, customers, metrics and pages; contracts and events
 * by their whole ids.
 */
export function useFindings(text: string): Findings {
  const client = useClient()
  const isAsked = text !== '' && client.may('read:all')
  const options = { isEnabled: isAsked, keepsEarlier: true }
  const exact = useRead(
    ACCOUNT_ID.test(text) ? accountReading(client, text) : accountByExternalIdReading(client, text),
    { isEnabled: isAsked },
  )
  const accounts = useReadList(accountListing(client, { query: text }), options)
  const customers = useReadList(customerListing(client, { query: text }), options)
  const customer = useRead(customerReading(client, text), { isEnabled: isAsked && UUID.test(text) })
  const contract = useRead(contractReading(client, text), { isEnabled: isAsked && UUID.test(text) })
  const metrics = useReadAll(metricListing(client), options)
  const isMissing = exact.error instanceof CallError && exact.error.status === NOT_FOUND
  const isExactKnown =
    (isMissing || exact.data !== undefined) &&
    (!UUID.test(text) ||
      [customer, contract].every(({ data, error }) => data !== undefined || error !== null))
  const lists = [accounts, customers, metrics]
  const failed = lists.find(({ error }) => error !== null)
  const finds = !isAsked
    ? []
    : [
        ...named('account', withExact(exact.data, accounts.data ?? [])),
        ...named('customer', withExact(customer.data, customers.data ?? [])),
        ...named('metric', metricsWith(text, metrics.data ?? [])),
        ...named(
          'contract',
          contract.data === undefined ? [] : [{ id: text, name: contract.data.name ?? text }],
        ),
        // An event has no name. Its page says so if there is none.
        ...named('event', EVENT_ID.test(text) ? [{ id: text, name: text }] : []),
      ]
  return {
    finds: [...finds, ...pageFinds(client, text)],
    isComplete:
      !isAsked || (isExactKnown && lists.every(({ data, isEarlier }) => data !== undefined && !isEarlier)),
    error: failed?.error ?? null,
    again: () => failed?.again(),
  }
}

interface Named {
  id: string
  name: string
}

/** The one that has this very id stands first. */
const withExact = (exact: Named | undefined, others: readonly Named[]): Named[] => [
  ...(exact === undefined ? [] : [exact]),
  ...others.filter(({ id }) => id !== exact?.id),
]

const named = (kind: Exclude<Find['kind'], 'page'>, found: readonly Named[]): Find[] =>
  found.slice(0, SHOWN_MAX).map(({ id, name }) => ({ kind, id, name: visibleText(name) }))

/** All metrics are read: other pages need them too. */
const metricsWith = (text: string, metrics: readonly Schema<'Metric'>[]): Named[] =>
  metrics.filter(({ id, name, external_id: externalId = '' }) =>
    METRIC_ID.test(text) ? id === text : includes(name, text) || includes(externalId, text),
  )

const pageFinds = (client: Client, text: string): Find[] =>
  menuOf(client)
    .filter(({ label }) => includes(label, text))
    .map(({ route, label }) => ({ kind: 'page', route, name: label }))

const includes = (whole: string, part: string): boolean => whole.toLowerCase().includes(part.toLowerCase())
