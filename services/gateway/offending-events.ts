import type { ErrorObject } from 'ajv/dist/2020.js'
import { faultDescriber, type SchemaFault } from '../../shared/http/describe-fault.ts'
import { listOperations, type OpenApiDocument } from '../../shared/http/openapi-document.ts'
import { compileReportSchemas } from './report-schemas.ts'
import { faultList } from './report-usage.ts'

/** As openapi.yaml has it. */
const EVENTS_MAX = 1_000

/**
 * Makes the explanation of a batch that openapi.yaml does not allow: its first events that are wrong, by their index.
 *
 * The validator in front stops at its first fault, on purpose: gathering all of them in 4 MiB of nonsense takes more
 * memory than the body. Only then is each event looked at by itself, until enough are named.
 */
export function explainBatch(document: OpenApiDocument): (body: unknown) => string | undefined {
  const { isEvent } = compileReportSchemas(document)
  const operation = listOperations(document).find(({ operationId }) => operationId === 'reportEvents')
  if (operation === undefined) throw new Error('openapi.yaml has no operation reportEvents')
  const describe = faultDescriber(document, operation)
  return (body) => {
    const events = eventsOf(body)
    if (events === undefined) return undefined
    const faults: string[] = []
    for (const [index, event] of events.entries())
      if (!isEvent(event)) faults.push(describe(firstFault(index, isEvent.errors ?? []), { body }))
    return faults.length === 0 ? undefined : faultList(faults)
  }
}

function eventsOf(body: unknown): unknown[] | undefined {
  if (typeof body !== 'object' || body === null || !('events' in body)) return undefined
  const { events } = body
  return Array.isArray(events) && events.length <= EVENTS_MAX ? events : undefined
}

function firstFault(index: number, errors: readonly ErrorObject[]): SchemaFault {
  const [error] = errors
  const { missingProperty, additionalProperty } = (error?.params ?? {}) as Record<string, string | undefined>
  const property = missingProperty ?? additionalProperty
  const path = `/body/events/${index}${error?.instancePath ?? ''}${property === undefined ? '' : `/${property}`}`
  return { path, keyword: error?.keyword ?? '', message: error?.message ?? 'is not a usage event' }
}
