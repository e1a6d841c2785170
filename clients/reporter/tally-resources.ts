import { isLostInUrls } from '../../shared/domain/external-id.ts'
import type { SchemaOf } from '../contract.ts'
import type { Ask } from '../core/ask.ts'
import { ConflictError, NotFoundError, type Page } from '../sdk/src/node.ts'

type Account = SchemaOf<'Account'>
type Metric = SchemaOf<'Metric'>

/** The usage of a metric or a currency by an account. */
export type SourceUsage = SchemaOf<'AccountUsage'>['events_consumed'][number]

export type TallyResources = ReturnType<typeof tallyResources>

/**
 * The operations on accounts and metrics that reporting needs.
 * @throws the errors of Ask, on every call
 */
export function tallyResources(ask: Ask) {
  const findAccountByExternalId = (externalId: string) =>
    findByExternalId(externalId, (id) => ask((tally) => tally.accounts.getByExternalId(id)))
  const findMetricByExternalId = (externalId: string) =>
    findByExternalId(externalId, (id) => ask((tally) => tally.metrics.getByExternalId(id)))
  const allMetrics = () => itemsOf(ask, () => ask((tally) => tally.metrics.list({ limit: PAGE_MAX })))
  return {
    /** Finds the account with this id; undefined when there is none. */
    findAccount: (id: string): Promise<Account | undefined> =>
      unlessMissing(ask((tally) => tally.accounts.get(id))),

    findAccountByExternalId,

    /** Lists up to `max` accounts of this name. It may have to read the whole list of accounts. */
    async listAccountsNamed(name: string, max: number): Promise<Account[]> {
      const named: Account[] = []
      const all = itemsOf(ask, () => ask((tally) => tally.accounts.list({ limit: PAGE_MAX })))
      for await (const account of all) {
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
      const before = await findAccountByExternalId(externalId)
      const create = () => ask((tally) => tally.accounts.create({ name, external_id: externalId }))
      return before ?? makeNamed(create, () => findAccountByExternalId(externalId))
    },

    async findMetric(id: string): Promise<Metric | undefined> {
      for await (const metric of allMetrics()) if (metric.id === id) return metric
      return undefined
    },

    /** Lists the metrics of this name that are not archived. There may be several, because names need not be unique. */
    async listMetricsNamed(name: string): Promise<Metric[]> {
      const named: Metric[] = []
      for await (const metric of allMetrics())
        if (metric.name === name && metric.archived_at === null) named.push(metric)
      return named
    },

    findMetricByExternalId,

    /**
     * Makes a metric with this external id, which is its name, too. If another client makes it at the same time, the
     * metric of that client is used.
     */
    makeMetric: (externalId: string): Promise<Metric> =>
      makeNamed(
        () => ask((tally) => tally.metrics.create({ name: externalId, external_id: externalId })),
        () => findMetricByExternalId(externalId),
      ),

    /** @returns the total of all usage of a metric, as decimal text */
    usageTotal: async (accountId: string, metricId: string): Promise<string> =>
      (await ask((tally) => tally.accounts.balance(accountId, { metric_id: metricId }))).usage_total,

    /** Reads the usage of an account by metric and currency, in a half-open range of Unix seconds. */
    async accountUsage(
      accountId: string,
      { startAt, endAt }: { startAt: number; endAt: number },
      aggregation: 'sum' | 'count',
    ): Promise<readonly SourceUsage[]> {
      const query = { start_at: startAt, end_at: endAt, aggregation }
      return (await ask((tally) => tally.accounts.usage(accountId, query))).events_consumed
    },
  }
}

const PAGE_MAX = 100

/** Yields all items of a list. Each page is asked for until Tally answers. */
async function* itemsOf<T>(ask: Ask, first: () => Promise<Page<T>>): AsyncGenerator<T> {
  let page: Page<T> | undefined = await first()
  while (page !== undefined) {
    const current: Page<T> = page
    yield* current.data
    page = await ask(() => current.next())
  }
}

const findByExternalId = <T>(
  externalId: string,
  get: (externalId: string) => Promise<T>,
): Promise<T | undefined> =>
  // No path can have such an id, so Tally takes none.
  isLostInUrls(externalId) ? Promise.resolve(undefined) : unlessMissing(get(externalId))

const unlessMissing = <T>(got: Promise<T>): Promise<T | undefined> =>
  got.catch((err: unknown) => {
    if (NotFoundError.is(err)) return undefined
    throw err
  })

/** Makes a resource, or finds the one that has got the external id in the meantime. */
async function makeNamed<T>(create: () => Promise<T>, find: () => Promise<T | undefined>): Promise<T> {
  try {
    return await create()
  } catch (err) {
    const made = ConflictError.is(err) ? await find() : undefined
    if (made === undefined) throw err
    return made
  }
}
