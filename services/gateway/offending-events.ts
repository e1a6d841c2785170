import type { ErrorObject } from 'ajv/dist/2020.js'
import { faultDescriber, type SchemaFault } from '../../shared/http/describe-fault.ts'
import { type OpenApiDocument, operationById } from '../../shared/http/openapi-document.ts'
import { faultList } from './faults.ts'
import type { CompileSchema } from './report-schemas.ts'

/** The maximum number of items in a batch, as in openapi.yaml. */
const ITEMS_MAX = 1_000

/** A list of items in a request of openapi.yaml. */
interface Batch {
  operationId: string
  /** The field that contains the items. */
  list: string
  /** The name of an item's schema. */
  schema: string
}

/**
 * Makes a function that explains why openapi.yaml does not allow a batch: it names the first wrong items by index.
 *
 * The validator runs before this function. It stops at the first fault, because a list of all faults in 4 MiB of
 * nonsense takes more memory than the body. This function then checks each item by itself.
 */
export function explainBatch(
  document: OpenApiDocument,
  compile: CompileSchema,
  { operationId, list, schema }: Batch,
): (body: unknown) => string | undefined {
  const isItem = compile(`/components/schemas/${schema}`)
  const describe = faultDescriber(document, operationById(operationId))
  return (body) => {
    const items = itemsOf(body, list)
    if (items === undefined) return undefined
    const faults: string[] = []
    for (const [index, item] of items.entries())
      if (!isItem(item)) faults.push(describe(firstFault(list, index, isItem.errors ?? []), { body }))
    return faults.length === 0 ? undefined : faultList(faults, list)
  }
}

function itemsOf(body: unknown, list: string): unknown[] | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const items = (body as Record<string, unknown>)[list]
  return Array.isArray(items) && items.length <= ITEMS_MAX ? items : undefined
}

function firstFault(list: string, index: number, errors: readonly ErrorObject[]): SchemaFault {
  const [error] = errors
  const { missingProperty, additionalProperty } = (error?.params ?? {}) as Record<string, string | undefined>
  const property = missingProperty ?? additionalProperty
  const path = `/body/${list}/${index}${error?.instancePath ?? ''}${property === undefined ? '' : `/${property}`}`
  return { path, keyword: error?.keyword ?? '', message: error?.message ?? 'is not allowed' }
}
