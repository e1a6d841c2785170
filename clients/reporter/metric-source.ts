import { METRIC_ID_PATTERN } from '../../shared/domain/ids.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { UsageError } from '../../shared/errors/usage-error.ts'
import type { TallyResources } from './tally-resources.ts'

/** The metric or currency of a quantity, as an event names it. */
export type EventSource = { metric_id: string } | { currency: string }

const CURRENCY = /^currency:([A-Za-z]{3})$/

/**
 * Checks the form of a source as a user writes it: a metric's id, external id or name, or `currency:usd`.
 * @throws UsageError when the text has another form
 */
export function requireSourceText(text: string): void {
  if (text === '') throw new UsageError('a metric has a name of at least one character')
  if (/^currency:/i.test(text) && !CURRENCY.test(text))
    throw new UsageError(`${JSON.stringify(text)}: a currency is three letters, such as currency:usd`)
}

/**
 * Finds the metric or currency that a user names: a metric's id, external id or name, or `currency:usd`.
 *
 * @param create whether to make a missing metric, with the text as its external id and its name
 * @throws StartupError when there is no such metric, or several metrics have that name
 */
export async function resolveSource(
  resources: TallyResources,
  text: string,
  create: boolean,
): Promise<EventSource> {
  const currency = CURRENCY.exec(text)?.[1]
  if (currency !== undefined) return { currency: currency.toLowerCase() }
  if (METRIC_ID_PATTERN.test(text)) {
    if ((await resources.findMetric(text)) === undefined) throw new StartupError(`there is no metric ${text}`)
    return { metric_id: text }
  }
  const found = await resources.findMetricByExternalId(text)
  if (found !== undefined) return { metric_id: found.id }
  const named = await resources.listMetricsNamed(text)
  const [first] = named
  if (named.length > 1)
    throw new StartupError(
      `${named.length} metrics are named ${JSON.stringify(text)}; give the id of one: ${named.map(({ id }) => id).join(', ')}`,
    )
  if (first !== undefined) return { metric_id: first.id }
  if (!create) throw new StartupError(`there is no metric named ${JSON.stringify(text)}; --create makes it`)
  return { metric_id: (await resources.makeMetric(text)).id }
}
