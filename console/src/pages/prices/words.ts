import type { Sources } from '../../parts/sources.ts'

/** Which usage is measured. Null and undefined both stand for what is not there. */
interface Measured {
  metric_id?: string | null | undefined
  currency?: string | null | undefined
  aggregation?: string | null | undefined
  filters?: readonly { property: string; values: readonly string[] }[] | null | undefined
  group_by?: string | null | undefined
  /** In a line of an invoice: the value of the property; null for the rest. */
  value?: string | null
}

/** Which usage a rate or a line measures: `sum of Tokens, region in eu or us, by model`. */
export function usageWords(measured: Measured, sources: Sources): string {
  const source = measured.metric_id ?? measured.currency
  if (source === null || source === undefined) return 'a fixed charge'
  const { group_by: property, value } = measured
  return [
    `${measured.aggregation ?? 'sum'} of ${sources.find(source).label}`,
    ...(measured.filters ?? []).map(({ property: name, values }) => `${name} = ${values.join(' or ')}`),
    ...(property === null || property === undefined ? [] : [groupWords(property, value)]),
  ].join(', ')
}

function groupWords(property: string, value: string | null | undefined): string {
  if (value === undefined) return `by ${property}`
  return value === null ? `other ${property}` : `${property} = ${value}`
}

export const CADENCES = ['day', 'week', 'month', 'quarter', 'half_year', 'year'] as const
export const cadenceWords = (cadence: (typeof CADENCES)[number]): string => cadence.replace('_', ' ')
