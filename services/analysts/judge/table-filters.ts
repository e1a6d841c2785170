import type { ClickHouseSettings } from '@clickhouse/client'
import { quoteLiteral } from '../../../shared/clickhouse/quote-literal.ts'
import { ClickHouseException } from '../exception.ts'
import { judgeQuery, type JudgeRules, type QueryRunner } from './judge-query.ts'

/** The setting by which Grafana filters the tables of a query. */
export const TABLE_FILTERS = 'additional_table_filters'

const FILTERS_MAX = 10
const TEXT = String.raw`'((?:[^'\\]|\\.)*)'`
const FILTER = String.raw`${TEXT} ?: ?${TEXT}`
/** Why at most one space at each place: with two runs of spaces in a row, a match could take very long. */
const FILTERS = new RegExp(String.raw`^\{(?: ?${FILTER} ?(?:, ?${FILTER} ?)*)? ?\}$`, 's')
const FILTERS_CHARACTERS_MAX = 16_384
const EACH_FILTER = new RegExp(FILTER, 'gs')

/**
 * Judges filters of tables, such as `{'events': 'quantity > 1'}`. Each is judged as the WHERE of a query over its view.
 * The filter that applies is the WHERE of that query as ClickHouse formats it.
 *
 * @param value of the setting
 * @returns the setting that applies
 * @throws ClickHouseException
 */
export async function judgeTableFilters(
  session: QueryRunner,
  value: string,
  limits: ClickHouseSettings,
  rules: JudgeRules,
): Promise<ClickHouseSettings> {
  if (value.length > FILTERS_CHARACTERS_MAX)
    throw refused(`it may have at most ${FILTERS_CHARACTERS_MAX} characters.`)
  if (!FILTERS.test(value.trim())) throw refused('it must be a map of texts, {view: filter}.')
  const filters = [...value.matchAll(EACH_FILTER)]
  if (filters.length > FILTERS_MAX) throw refused(`it may have at most ${FILTERS_MAX} filters.`)
  const judged: string[] = []
  for (const [, table = '', filter = ''] of filters) {
    const view = unescaped(table).replaceAll('`', '')
    if (!rules.tables.has(view) || /^(?:system|information_schema)\./i.test(view))
      throw refused(`${view} is not one of the analysts' views.`)
    const before = `SELECT 1 FROM ${view} WHERE `
    const { text } = await judgeQuery(session, `${before}${unescaped(filter)}`, {}, limits, rules)
    if (!text.startsWith(before)) throw refused('one of its filters is not understood.')
    judged.push(`${quoteLiteral(view)}:${quoteLiteral(text.slice(before.length))}`)
  }
  return Object.fromEntries([[TABLE_FILTERS, `{${judged.join(',')}}`]])
}

const unescaped = (text: string): string => text.replaceAll(/\\(.)/gs, '$1')

const refused = (why: string): ClickHouseException =>
  new ClickHouseException('BAD_ARGUMENTS', `setting ${TABLE_FILTERS}: ${why}`)
