import type { SchemaOf } from '../../contract.ts'

type InvoiceSummary = SchemaOf<'InvoiceSummary'>

/** The columns of the CSV. No value contains a comma, a quote or a line end, so no value is quoted. */
const COLUMNS: Record<string, (preview: InvoiceSummary) => string> = {
  contract_id: ({ contract_id: id }) => id,
  account_id: ({ account_id: id }) => id,
  currency: ({ currency }) => currency,
  status: ({ status }) => status,
  period_start_at: ({ period }) => isoTime(period.start_at),
  period_end_at: ({ period }) => isoTime(period.end_at),
  as_of: ({ as_of: at }) => isoTime(at),
  usage_as_of: ({ usage_as_of: at }) => isoTime(at),
  subtotal: ({ subtotal }) => subtotal,
  minimum_adjustment: ({ minimum_adjustment: amount }) => amount,
  total: ({ total }) => total,
  credit_total: ({ credit_total: amount }) => amount,
  amount_due: ({ amount_due: amount }) => amount,
  credits_applied: ({ credits_applied: credits }) =>
    credits.map(({ grant_id: id, amount }) => `${id ?? 'due'}:${amount}`).join(' '),
  unrated_events: ({ unrated }) => String(unrated.reduce((sum, one) => sum + one.event_count, 0)),
  warnings: ({ warnings }) => [...new Set(warnings.map(({ code }) => code))].join(' '),
}

/** The first line of CSV. */
export const CSV_HEADER = Object.keys(COLUMNS).join(',')

/** Writes a preview as a line of CSV, with exact amounts and with times in UTC. */
export const csvLine = (preview: InvoiceSummary): string =>
  Object.values(COLUMNS)
    .map((column) => column(preview))
    .join(',')

const isoTime = (second: number): string => new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
