import { type OperationId, type OperationRules, OPERATIONS } from '../../clients/operations.ts'
import { listOperations, type OpenApiDocument, type Schema } from '../../shared/http/openapi-document.ts'

/** An operation, with all that the methods of a client are made of. */
export interface SdkOperation {
  id: OperationId
  /** In camelCase: `refillConfigurations`. */
  resource: string
  /** In camelCase: `getByExternalId`. */
  name: string
  rules: OperationRules
  /** In capital letters. */
  method: string
  /** As in the document: `/v2/accounts/{account_id}`. */
  path: string
  /** The names in the path, in their order: `account_id`. */
  pathParameters: readonly string[]
  query: 'none' | 'optional' | 'required'
  body: 'none' | 'optional' | 'required'
  /** Whether the request may have an Idempotency-Key. */
  isKeyed: boolean
  /** The status of the answer that means success. */
  status: number
  /** The media type of that answer. */
  mediaType: string
  summary: string
  permissions: readonly string[]
}

/** The files that readSdkOperations depends on. */
export const SDK_OPERATIONS_SOURCES = [
  'openapi.yaml',
  'clients/operations.ts',
  'tools/generate/sdk-operations.ts',
  'shared/http/openapi-document.ts',
]

interface Described {
  summary: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, { $ref?: string; content?: Record<string, unknown> }>
}

interface Parameter {
  $ref?: string
  name: string
  in: string
  required?: boolean
}

/**
 * Lists the operations of the clients, in the order of openapi.yaml.
 *
 * @throws RangeError when a row of clients/operations.ts does not fit its operation
 */
export function readSdkOperations(document: OpenApiDocument): SdkOperation[] {
  const rows = new Map(Object.entries(OPERATIONS))
  return listOperations(document).flatMap(({ operationId, method, path, status, permissions }) => {
    const row = rows.get(operationId)
    if (row === undefined) return []
    const [resource, name, rules] = row
    const described = document.paths[path]?.[method] as unknown as Described
    const parameters = (described.parameters ?? []).map((parameter) => resolved(document, parameter))
    const operation: SdkOperation = {
      id: operationId as OperationId,
      resource,
      name,
      rules,
      method: method.toUpperCase(),
      path,
      pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter),
      query: need(parameters.filter((one) => one.in === 'query')),
      body: bodyOf(document, described),
      isKeyed: parameters.some((one) => one.name === 'Idempotency-Key'),
      status,
      mediaType: mediaTypeOf(document, described, status),
      summary: described.summary,
      permissions: permissions ?? [],
    }
    requireFit(operation)
    return [operation]
  })
}

/** Groups operations by their resource. */
export function byResource(operations: readonly SdkOperation[]): Map<string, SdkOperation[]> {
  const groups = new Map<string, SdkOperation[]>()
  for (const operation of operations)
    groups.set(operation.resource, [...(groups.get(operation.resource) ?? []), operation])
  return groups
}

/** Returns the part of the document that a reference names, or the object itself. */
export function resolved<T extends { $ref?: string }>(document: OpenApiDocument, object: T): T {
  if (object.$ref === undefined) return object
  const names = object.$ref.replace('#/', '').split('/')
  const found = names.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document)
  return found as T
}

const need = (parameters: readonly Parameter[]): SdkOperation['query'] =>
  parameters.length === 0 ? 'none' : parameters.some(({ required }) => required) ? 'required' : 'optional'

function bodyOf(document: OpenApiDocument, { requestBody }: Described): SdkOperation['body'] {
  const schema = requestBody?.content['application/json']?.schema
  if (requestBody === undefined || schema === undefined) return 'none'
  if (Object.keys(resolved(document, schema).properties ?? {}).length === 0 && !requestBody.required)
    return 'none'
  return requestBody.required ? 'required' : 'optional'
}

function mediaTypeOf(document: OpenApiDocument, { responses }: Described, status: number): string {
  const { content = {} } = resolved(document, responses[status] ?? {})
  return Object.keys(content)[0] ?? ''
}

/** @throws RangeError when the rules of an operation contradict openapi.yaml */
function requireFit({ id, rules, isKeyed, method }: SdkOperation): void {
  const isReport = id === 'reportEvent' || id === 'reportEvents'
  if (isKeyed !== (rules.retry === 'keyed') && !isReport)
    throw new RangeError(
      `clients/operations.ts: ${id} must be keyed exactly when it takes an Idempotency-Key`,
    )
  if (method === 'GET' && rules.retry !== 'safe')
    throw new RangeError(`clients/operations.ts: ${id} is a GET, so it must be safe`)
}

/**
 * Lists the fields of request bodies that are amounts. Clients take numbers for them and send text.
 *
 * @throws RangeError when a field of that name is something else in another request
 */
export function listAmountFields(document: OpenApiDocument): string[] {
  const fields = { amount: new Set<string>(), other: new Set<string>() }
  const seen = new Set<Schema>()
  const visit = (given: Schema): void => {
    const schema = resolved(document, given)
    if (seen.has(schema)) return
    seen.add(schema)
    for (const part of [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
      visit(part)
    if (schema.items !== undefined) visit(schema.items)
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      fields[isAmount(document, field) ? 'amount' : 'other'].add(name)
      visit(field)
    }
  }
  for (const item of Object.values(document.paths))
    for (const { requestBody } of Object.values(item))
      for (const { schema } of Object.values(requestBody?.content ?? {})) visit(schema)
  const both = [...fields.amount].filter((name) => fields.other.has(name))
  if (both.length > 0) throw new RangeError(`${both.join(', ')}: an amount in one request, not in another`)
  return [...fields.amount].sort()
}

const isAmount = (document: OpenApiDocument, given: Schema): boolean => {
  const { format, allOf = [], anyOf = [] } = resolved(document, given)
  return format === 'amount' || [...allOf, ...anyOf].some((part) => isAmount(document, part))
}
