import { StartupError } from '../../shared/errors/startup-error.ts'
import { printable } from '../../shared/text/printable.ts'
import type { SchemaOf } from '../contract.ts'
import type { HttpAnswer, HttpRequest } from '../core/http-sender.ts'
import type { Ask } from '../core/reporting-client.ts'

type Account = SchemaOf<'Account'>
type Metric = SchemaOf<'Metric'>

/** The usage of a metric or a currency by an account. */
export type SourceUsage = SchemaOf<'AccountUsage'>['events_consumed'][number]

export type TallyResources = ReturnType<typeof tallyResources>

/**
 * The operations on accounts and metrics that reporting needs.
 * @throws the errors of Ask, on every call
 */
export const tallyResources = (ask: Ask) => ({
  /** Finds the account with this id; undefined when there is none. */
  findAccount: (id: string) => find<Account>(ask, `/v2/accounts/${encodeURIComponent(id)}`),

  findAccountByExternalId: (externalId: string) =>
    find<Account>(ask, `/v2/accounts/external-id/${encodeURIComponent(externalId)}`),

  /** Lists up to `max` accounts of this name. It may have to read the whole list of accounts. */
  async listAccountsNamed(name: string, max: number): Promise<Account[]> {
    const named: Account[] = []
    for await (const account of list<Account>(ask, '/v2/accounts')) {
      if (account.name === name) named.push(account)
      if (named.length === max) break
    }
    return named
  },

  /**
   * Finds the account with the external id, or makes it when there is none. If another client makes it at the same
   * time, the account of that client is used.
   */
  async ensureAccount(externalId: string, name = externalId): Promise<Account> {
    const before = await this.findAccountByExternalId(externalId)
    if (before !== undefined) return before
    return makeNamed<Account>(ask, '/v2/accounts', externalId, name)
  },

  findMetric: async (id: string) => (await allMetrics(ask)).find((metric) => metric.id === id),

  /** Lists the metrics of this name that are not archived. There may be several, because names need not be unique. */
  listMetricsNamed: async (name: string) =>
    (await allMetrics(ask)).filter((metric) => metric.name === name && metric.archived_at === null),

  findMetricByExternalId: (externalId: string) =>
    find<Metric>(ask, `/v2/metrics/external-id/${encodeURIComponent(externalId)}`),

  /**
   * Makes a metric with this external id, which is its name, too. If another client makes it at the same time, the
   * metric of that client is used.
   */
  makeMetric: (externalId: string): Promise<Metric> => makeNamed<Metric>(ask, '/v2/metrics', externalId),

  /** @returns the total of all usage of a metric, as decimal text */
  async usageTotal(accountId: string, metricId: string): Promise<string> {
    const path = `/v2/accounts/${accountId}/balance?metric_id=${metricId}`
    return (await get<SchemaOf<'Balance'>>(ask, path)).usage_total
  },

  /** Reads the usage of an account by metric and currency, in a half-open range of Unix seconds. */
  async accountUsage(
    accountId: string,
    range: { startAt: number; endAt: number },
    aggregation: 'sum' | 'count',
  ): Promise<readonly SourceUsage[]> {
    const query = `start_at=${range.startAt}&end_at=${range.endAt}&aggregation=${aggregation}`
    const path = `/v2/accounts/${accountId}/usage?${query}`
    return (await get<SchemaOf<'AccountUsage'>>(ask, path)).events_consumed
  },
})

async function allMetrics(ask: Ask): Promise<Metric[]> {
  const metrics: Metric[] = []
  for await (const metric of list<Metric>(ask, '/v2/metrics')) metrics.push(metric)
  return metrics
}

/** Yields all items of a list, page by page. */
async function* list<T extends { id: string }>(ask: Ask, path: string): AsyncGenerator<T> {
  let after = ''
  for (;;) {
    const page = await get<{ data: readonly T[]; has_more: boolean }>(ask, `${path}?limit=100${after}`)
    yield* page.data
    const last = page.data.at(-1)
    if (!page.has_more || last === undefined) return
    after = `&starting_after=${last.id}`
  }
}

/** Makes a resource, or finds the one that has got the external id in the meantime. */
async function makeNamed<T>(ask: Ask, path: string, externalId: string, name = externalId): Promise<T> {
  const request: HttpRequest = {
    method: 'POST',
    path,
    body: JSON.stringify({ name, external_id: externalId }),
  }
  const answer = await ask(request)
  if (answer.status === 200) return bodyOf(answer) as T
  const made =
    answer.status === 409
      ? await find<T>(ask, `${path}/external-id/${encodeURIComponent(externalId)}`)
      : undefined
  if (made === undefined) throw unexpected(request, answer)
  return made
}

async function find<T>(ask: Ask, path: string): Promise<T | undefined> {
  const answer = await ask({ method: 'GET', path })
  if (answer.status === 404) return undefined
  if (answer.status !== 200) throw unexpected({ method: 'GET', path }, answer)
  return bodyOf(answer) as T
}

async function get<T>(ask: Ask, path: string): Promise<T> {
  const found = await find<T>(ask, path)
  if (found === undefined)
    throw new StartupError(`GET ${path} was answered with 404: is this the URL of a Tally?`)
  return found
}

function bodyOf({ text }: HttpAnswer): unknown {
  try {
    return JSON.parse(text)
  } catch (err) {
    throw new StartupError('an answer was not JSON: is this the URL of a Tally?', { cause: err })
  }
}

const unexpected = ({ method, path }: HttpRequest, { status, text }: HttpAnswer): StartupError =>
  new StartupError(`${method} ${path} was answered with ${status} ${printable(text.slice(0, 500))}`)
