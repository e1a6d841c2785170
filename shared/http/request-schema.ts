import type { OpenApiDocument, Operation, Parameter, Schema } from './openapi-document.ts'

/** The validator's names for the parts of a request, and the names of these parts in openapi.yaml. */
const PARAMETERS_IN: Readonly<Record<string, string>> = { query: 'query', params: 'path', headers: 'header' }

/**
 * The schema of a part of a request, from openapi.yaml.
 *
 * @param where `body`, `query`, `params` or `headers`. For parameters, the result is an object with a member for each
 */
export function requestSchema(
  document: OpenApiDocument,
  { path, method }: Operation,
  where: string,
): Schema | undefined {
  const operation = document.paths[path]?.[method]
  if (where === 'body') {
    const body = operation?.requestBody?.content['application/json']?.schema
    return body && flatten(document, body)
  }
  const parameters = (operation?.parameters ?? []).map((parameter) => resolve<Parameter>(document, parameter))
  return {
    properties: Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === PARAMETERS_IN[where])
        .map(({ in: place, name, schema }) => [place === 'header' ? name.toLowerCase() : name, schema]),
    ),
  }
}

/** Whether openapi.yaml requires a body. */
export const needsBody = (document: OpenApiDocument, { path, method }: Operation): boolean =>
  document.paths[path]?.[method]?.requestBody?.required === true

/** The schema of a member: a field of an object, or an item of a list. */
export function memberSchema(document: OpenApiDocument, outer: Schema, name: string): Schema | undefined {
  const { properties = {}, items } = flatten(document, outer)
  const inner = Object.hasOwn(properties, name) ? properties[name] : items
  return inner && flatten(document, inner)
}

/**
 * For a schema with several kinds of object (`oneOf`), returns the kind that a value names. If the schema has no kinds,
 * or not this kind, the schema is returned unchanged.
 */
export function schemaOfKind(document: OpenApiDocument, schema: Schema, value: unknown): Schema {
  const { oneOf = [], discriminator } = schema
  if (discriminator === undefined || typeof value !== 'object' || value === null) return schema
  const said = (value as Record<string, unknown>)[discriminator.propertyName]
  const kinds = oneOf.map((kind) => flatten(document, kind))
  return kinds.find((kind) => kindsOf(document, kind, discriminator.propertyName).includes(said)) ?? schema
}

/** The values of the discriminator that name a kind. */
export function kindsOf(document: OpenApiDocument, kind: Schema, propertyName: string): unknown[] {
  const { const: constant, enum: several = [constant] } = memberSchema(document, kind, propertyName) ?? {}
  return several
}

/** Whether a schema allows null. */
export function isNullable(document: OpenApiDocument, schema: Schema): boolean {
  const { type = [], anyOf = [] } = resolve<Schema>(document, schema)
  return [type].flat().includes('null') || anyOf.some((one) => isNullable(document, one))
}

/** Resolves references, `allOf` and nullable `anyOf`. Keywords next to them take precedence. */
export function flatten(document: OpenApiDocument, schema: Schema): Schema {
  const { allOf = [], anyOf = [], ...own } = resolve<Schema>(document, schema)
  const orNull = anyOf.filter(({ type }) => type !== 'null')
  const parts = [...allOf, ...(orNull.length === 1 ? orNull : [])]
  return Object.assign({}, ...parts.map((part) => flatten(document, part)), own) as Schema
}

/** Follows a reference such as `#/components/schemas/Amount`. */
function resolve<T extends object>(document: OpenApiDocument, value: T & { $ref?: string }): T {
  if (value.$ref === undefined) return value
  const names = value.$ref.replace('#/', '').split('/')
  return names.reduce<unknown>((outer, name) => (outer as Record<string, unknown>)[name], document) as T
}
