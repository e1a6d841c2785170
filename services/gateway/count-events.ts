import { DomainError, type ErrorCode } from '../../shared/errors/domain-error.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { GatewayWork } from './app.ts'

/**
 * Wraps the work so that reported events and corrections are counted by the status of their answer. Bodies that
 * openapi.yaml does not allow are not counted.
 */
export function countEvents(metrics: Metrics, { report, correct }: GatewayWork): GatewayWork {
  const events = metrics.counter(
    'tally_gateway_events_total',
    "Reported events by the class of their answer's status.",
    ['status'],
  )
  const corrections = metrics.counter(
    'tally_gateway_corrections_total',
    "Corrections by the class of their answer's status.",
    ['status'],
  )
  return {
    report: countBy(events, (reported) => reported.events.length, report),
    correct: countBy(corrections, (request) => request.corrections.length, correct),
  }
}

function countBy<Asked, Answer>(
  counter: ReturnType<Metrics['counter']>,
  countOf: (asked: Asked) => number,
  work: (asked: Asked) => Promise<Answer>,
): (asked: Asked) => Promise<Answer> {
  const [accepted, refused, failed] = [counter('2xx'), counter('4xx'), counter('5xx')]
  return async (asked) => {
    const count = countOf(asked)
    try {
      const answer = await work(asked)
      accepted(count)
      return answer
    } catch (err) {
      if (isRefusal(err)) refused(count)
      else failed(count)
      throw err
    }
  }
}

const isRefusal = (err: unknown): boolean => err instanceof DomainError && !TRY_AGAIN.has(err.code)

/** The codes of errors that are answered with 503. */
const TRY_AGAIN = new Set<ErrorCode>(['overloaded', 'suspended', 'unavailable'])
