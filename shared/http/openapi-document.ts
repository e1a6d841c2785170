import { readFileSync } from 'node:fs'
import path from 'node:path'
import { load } from 'js-yaml'
import { PROJECT_ROOT } from '../config/project-root.ts'
import { type Permission, PERMISSIONS, READ_ACCOUNT } from '../domain/api-key.ts'

/** The parts of an OpenAPI document that Tally's own code reads. Only the validator reads the rest. */
export interface OpenApiDocument {
  info: { version: string }
  paths: Record<string, Record<string, OperationObject>>
  components: { schemas: Record<string, object>; parameters: Record<string, Parameter> }
}

interface OperationObject {
  operationId: string
  security?: { ApiKey?: string[]; Bearer?: string[] }[]
  parameters?: (Parameter & { $ref?: string })[]
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, unknown>
}

/** A parameter of an operation. */
export interface Parameter {
  name: string
  in: string
  schema: Schema
}

/** The parts of a schema that Tally's own code reads, for example for messages. */
export interface Schema {
  $ref?: string
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  /** The field whose value decides which schema of `oneOf` applies. */
  discriminator?: { propertyName: string }
  type?: string | string[]
  /** The schema's name in messages, after `is not`. */
  title?: string
  format?: string
  const?: unknown
  enum?: unknown[]
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  /** True if null does not mean the same as an absent field. */
  'x-null-is-a-value'?: true
}

/** One operation of the contract. */
export interface Operation {
  operationId: string
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As in the document: `/v2/accounts/{account_id}`. */
  path: string
  /** A key needs one of these permissions; undefined for operations that need no key. */
  permissions: readonly Permission[] | undefined
  /** Where a request names an account, in the parameter `account_id`; undefined if it has no such parameter. */
  accountIn: 'path' | 'query' | undefined
  /** The 2xx status of its successful answer. */
  status: number
}

let parsed: OpenApiDocument | undefined

/** Reads openapi.yaml once. Each call returns a copy, because the validator changes the document that it gets. */
export const readOpenApiDocument = (): OpenApiDocument => structuredClone(parsedOnce())

function parsedOnce(): OpenApiDocument {
  parsed ??= load(readFileSync(path.join(PROJECT_ROOT, 'openapi.yaml'), 'utf8')) as OpenApiDocument
  return parsed
}

/** All operations of the contract, in the order of the document. */
export function listOperations(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      operationId: operation.operationId,
      method: method as Operation['method'],
      path,
      permissions: permissionsOf(operation),
      accountIn: accountPlaceOf(document, operation),
      status: Number(Object.keys(operation.responses).find((status) => status.startsWith('2'))),
    })),
  )
}

let byId: ReadonlyMap<string, Operation> | undefined

/** @throws Error when there is no such operation */
export function operationById(id: string): Operation {
  byId ??= new Map(listOperations(parsedOnce()).map((operation) => [operation.operationId, operation]))
  const found = byId.get(id)
  if (found === undefined) throw new Error(`openapi.yaml has no operation ${id}`)
  return found
}

function permissionsOf({ operationId, security }: OperationObject): Permission[] | undefined {
  if (security?.length === 0) return undefined
  // The other scheme, Bearer, has the same permissions: it is another header for the same keys.
  const ofKeys = (security ?? [{}]).filter(({ Bearer }) => Bearer === undefined)
  return ofKeys.map(({ ApiKey: [name = 'read:all'] = [] }) => {
    const permission = [...PERMISSIONS, READ_ACCOUNT].find((one) => one === name)
    if (permission === undefined)
      throw new Error(`openapi.yaml: ${operationId} needs an unknown permission ${name}`)
    return permission
  })
}

const PARAMETER = '#/components/parameters/'

function accountPlaceOf(
  { components }: OpenApiDocument,
  { parameters = [] }: OperationObject,
): Operation['accountIn'] {
  const place = parameters
    .map((parameter) => components.parameters[parameter.$ref?.replace(PARAMETER, '') ?? ''] ?? parameter)
    .find(({ name }) => name === 'account_id')?.in
  return place === 'path' || place === 'query' ? place : undefined
}
