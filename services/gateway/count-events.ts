import { DomainError } from '../../shared/errors/domain-error.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { ReportUsage } from './report-usage.ts'

/** Counts reported events by how their request was answered, as far as its body was worth a look. */
export function countEvents(metrics: Metrics, report: ReportUsage): ReportUsage {
  const events = metrics.counter(
    'tally_gateway_events_total',
    'Reported events by the class of the status they were answered with.',
    ['status'],
  )
  const [accepted, refused, failed] = [events('2xx'), events('4xx'), events('5xx')]
  return async (reported) => {
    const count = reported.events.length
    try {
      const taken = await report(reported)
      accepted(count)
      return taken
    } catch (err) {
      if (isRefusal(err)) refused(count)
      else failed(count)
      throw err
    }
  }
}

const isRefusal = (err: unknown): boolean =>
  err instanceof DomainError && err.code !== 'overloaded' && err.code !== 'unavailable'
