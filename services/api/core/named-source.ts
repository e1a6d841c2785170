import { type NamedSource, namedSources, type UsageSource } from '../../../shared/domain/usage-source.ts'
import { DomainError, type ErrorCode } from '../../../shared/errors/domain-error.ts'

/**
 * Reads the metric or currency of a request.
 *
 * @param code the code of the error: malformed in a query, unprocessable in a body
 * @param label is put before the names of the fields
 * @throws DomainError unless the request names exactly one
 */
export function requiredSource(named: NamedSource, code: ErrorCode, label = ''): UsageSource {
  const [source, ...others] = namedSources(named)
  if (source === undefined || others.length > 0)
    throw new DomainError(code, `${label}metric_id, currency: exactly one of them is required`)
  return source
}

/**
 * Reads the metric or currency of a request, if it names one.
 *
 * @param code the code of the error: malformed in a query, unprocessable in a body
 * @param label is put before the names of the fields
 * @throws DomainError when the request names both
 */
export function optionalSource(named: NamedSource, code: ErrorCode, label = ''): UsageSource | undefined {
  const [source, ...others] = namedSources(named)
  if (others.length > 0)
    throw new DomainError(code, `${label}metric_id, currency: at most one of them can be given`)
  return source
}
