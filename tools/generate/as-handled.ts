/** The parts of an OpenAPI document that describe requests. */
export interface Described {
  openapi: string
  info: object
  paths: Record<string, Record<string, DescribedOperation>>
  components: object
}

interface DescribedOperation {
  operationId: string
  parameters?: Schema[]
  requestBody?: Schema
}

/** Any part of the document. */
type Schema = Record<string, unknown>

/**
 * Makes an OpenAPI document of the requests that handlers get. References are replaced by their targets, and parameters
 * and fields with a default are required. In a POST, a null that means an absent field does not occur
 * (shared/http/nulls-as-absent.ts). Parts without types are left out: headers, texts and answers.
 */
export function asHandled(document: Described): Described {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const handled = Object.entries(operations).map(
      ([method, { operationId, parameters = [], requestBody }]) => {
        const body = requestBody && bodyOf(followed(document, requestBody), method === 'post')
        return [
          method,
          {
            operationId,
            parameters: parameters
              .map((parameter) => followed(document, parameter))
              .filter((parameter) => parameter['in'] !== 'header')
              .map(withDefault),
            ...(body && { requestBody: body }),
            responses: { default: { description: '' } },
          },
        ] as const
      },
    )
    return [path, Object.fromEntries(handled)] as const
  })
  return { openapi: document.openapi, info: document.info, paths: Object.fromEntries(paths), components: {} }
}

const withDefault = (parameter: Schema): Schema =>
  'default' in (parameter['schema'] as Schema) ? { ...parameter, required: true } : parameter

function bodyOf({ required, content }: Schema, isPost: boolean): Schema {
  const media = mapValues(content as Schema, (one) => {
    const schema = (one as { schema: Schema }).schema
    return { schema: withDefaults(isPost ? withoutNulls(schema) : schema) }
  })
  return { required, content: media }
}

/** Makes each field with a default required. */
function withDefaults(schema: Schema): Schema {
  const { properties, required = [], ...rest } = mapInner(schema, withDefaults)
  if (!isObject(properties)) return rest
  const defaulted = Object.keys(properties).filter((name) => 'default' in (properties[name] as Schema))
  return { ...rest, properties, required: [...(required as string[]), ...defaulted] }
}

const SAY_NO_TYPE = ['description', 'example', 'examples', 'title', 'discriminator']

/**
 * Returns a part of the document, with references replaced by their targets.
 * @throws RangeError when a reference refers to itself
 */
function followed(document: Described, part: Schema): Schema {
  const follow = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(follow)
    if (!isObject(value)) return value
    const { $ref } = value
    if (typeof $ref === 'string') return follow(at(document, $ref))
    // A property may have the name of a keyword.
    const entries = Object.entries(value).map(([name, inner]) => [
      name,
      name === 'properties' ? mapValues(inner as Schema, follow) : follow(inner),
    ])
    return Object.fromEntries(entries.filter(([name]) => !SAY_NO_TYPE.includes(name as string)))
  }
  return follow(part) as Schema
}

const at = (document: Described, reference: string): unknown =>
  reference
    .replace('#/', '')
    .split('/')
    .reduce<unknown>((outer, name) => (outer as Schema)[name], document)

/** Removes null from optional fields, unless null has its own meaning. */
function withoutNulls(schema: Schema): Schema {
  const { properties, required = [], ...rest } = mapInner(schema, withoutNulls)
  if (!isObject(properties)) return rest
  const isKept = (name: string, field: Schema) =>
    (required as string[]).includes(name) || field['x-null-is-a-value'] === true
  const fields = Object.entries(properties as Record<string, Schema>).map(([name, field]) => [
    name,
    isKept(name, field) ? field : notNull(field),
  ])
  return { ...rest, properties: Object.fromEntries(fields) as Schema, required }
}

/** Replaces each schema directly within a schema. */
function mapInner(schema: Schema, map: (inner: Schema) => Schema): Schema {
  const one = (value: unknown) => (isObject(value) ? map(value) : value)
  const inner = (name: string, value: unknown) => {
    if (name === 'properties') return mapValues(value as Schema, one)
    if (['items', 'additionalProperties'].includes(name)) return one(value)
    return ['allOf', 'anyOf', 'oneOf'].includes(name) ? (value as unknown[]).map(one) : value
  }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, inner(name, value)]))
}

function notNull({ type, anyOf, ...rest }: Schema): Schema {
  return {
    ...rest,
    ...(type !== undefined && { type: Array.isArray(type) ? type.filter((one) => one !== 'null') : type }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.filter((one) => (one as Schema)['type'] !== 'null') }),
  }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const mapValues = (object: Schema, map: (value: unknown) => unknown): Schema =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]))
