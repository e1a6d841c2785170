import type { Client } from '../api/client.ts'
import type { Schema } from '../api/contract.ts'
import { currencyListing, metricListing } from '../api/queries/sources.ts'
import { type Read, useReadAll } from '../api/use-read.ts'
import { visibleText } from '../format/visible-text.ts'

/** What is counted: the unit of a metric, or money in a currency. What differs in its source is never added up. */
export interface Source {
  /** The id of the metric, or the code of the currency. It stands in addresses. */
  id: string
  label: string
  unit: string
  /** The decimal places of the currency's amounts, if they are known. */
  places: number | null | undefined
  isMetric: boolean
  isArchived: boolean
}

/** A metric or a currency, as bodies of the API have it. */
type OfSource = Pick<Schema<'Balance'>, 'metric_id' | 'currency'>

export const sourceIdOf = ({ metric_id: metricId, currency }: OfSource): string => metricId ?? currency ?? ''

/** The parameters by which the API is asked for a source. */
export const sourceQuery = ({ id, isMetric }: Source): { metric_id?: string; currency?: string } =>
  isMetric ? { metric_id: id } : { currency: id }

/** A metric as a source. */
export const sourceOfMetric = ({ id, name, measurement_units, archived_at }: Schema<'Metric'>): Source => ({
  id,
  label: visibleText(name),
  unit: visibleText(measurement_units === '' ? name : measurement_units),
  places: undefined,
  isMetric: true,
  isArchived: archived_at !== null,
})

const ofCurrency = ({ currency, minor_units }: Schema<'ReportedCurrency'>): Source => ({
  id: currency,
  label: currency,
  unit: currency,
  places: minor_units,
  isMetric: false,
  isArchived: false,
})

/** All metrics of the company, in order of creation, and then the currencies of its usage by code. */
export interface Sources {
  list: readonly Source[]
  /** A source that is not in the list: a currency that was only granted, or a metric that was just made. */
  find(id: string): Source
}

/** Reads the sources of a company. */
export function useSources(client: Client): Read<Sources> {
  const metrics = useReadAll(metricListing(client))
  const currencies = useReadAll(currencyListing(client))
  const isReady = metrics.data !== undefined && currencies.data !== undefined
  const list = [...(metrics.data ?? []).map(sourceOfMetric), ...(currencies.data ?? []).map(ofCurrency)]
  return {
    ...metrics,
    error: metrics.error ?? currencies.error,
    again: () => {
      metrics.again()
      currencies.again()
    },
    data: isReady
      ? { list, find: (id) => list.find((source) => source.id === id) ?? unknownSource(id) }
      : undefined,
  }
}

const unknownSource = (id: string): Source => ({
  id,
  label: id,
  unit: id.startsWith('metric_') ? '' : id,
  places: undefined,
  isMetric: id.startsWith('metric_'),
  isArchived: false,
})
