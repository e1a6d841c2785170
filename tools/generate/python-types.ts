import type { OpenApiDocument, Schema } from '../../shared/http/openapi-document.ts'
import { resolved, type SdkOperation } from './sdk-operations.ts'

/** The Python types of one operation. */
export interface PythonTypes {
  /** Undefined when the operation has none. */
  query: string | undefined
  body: string | undefined
  /** What a call returns; for a list with pages an item. */
  answer: string
}

export interface PythonTypesText {
  /** The content of `_types_gen.py`, without its head. */
  text: string
  /** All names that it defines, in order. */
  names: readonly string[]
  /** By the id of the operation. */
  ofOperation: ReadonlyMap<string, PythonTypes>
}

/** What the generated code reads of a schema, besides the parts that Tally's own code reads. */
type PythonSchema = Schema & { description?: string }

interface QueryParameter {
  name: string
  in: string
  description?: string
  required?: boolean
  schema: Schema
}

/** Where a type stands: callers give looser types than they get. */
type Side = 'given' | 'got'

/** A name of the schemas that callers write, if answers have another form of it. */
const GIVEN = 'Input'
/** The type of amounts that are given. */
const AMOUNT = 'Amount'

/**
 * Makes Python types of a document: a TypedDict for each object that the operations take or answer with.
 *
 * Why not by datamodel-code-generator: `npm run generate` needs neither Python nor a network, and amounts are wider in
 * requests than in answers.
 */
export function pythonTypes(document: OpenApiDocument, operations: readonly SdkOperation[]): PythonTypesText {
  const context: Context = { document, classes: new Map(), unions: new Map(), made: new Map() }
  const { classes, unions } = context
  // Answers first: their objects have the names of the document.
  const answers = operations.map((operation) => answerType(context, operation))
  const types = operations.map((operation, at): [string, PythonTypes] => [
    operation.id,
    {
      query: queryType(context, operation),
      body: bodyType(context, operation),
      answer: answers[at] ?? 'str',
    },
  ])
  return {
    text: [...classes.values(), ...unions.values()].join('\n\n\n'),
    names: [AMOUNT, ...classes.keys(), ...unions.keys()],
    ofOperation: new Map(types),
  }
}

/** The document, and the types that were made of it so far. */
interface Context {
  document: OpenApiDocument
  classes: Map<string, string>
  /** Types that are one of several. They stand behind the classes that they name. */
  unions: Map<string, string>
  /** The names of classes, by the name in the document and the side. */
  made: Map<string, string>
}

const operationOf = ({ document }: Context, { path, method }: SdkOperation) =>
  document.paths[path]?.[method.toLowerCase()]

function answerType(context: Context, operation: SdkOperation): string {
  const { document } = context
  const { id, rules, status, mediaType } = operation
  if (mediaType !== 'application/json') return 'str'
  const response = resolved(
    document,
    operationOf(context, operation)?.responses[status] as {
      $ref?: string
      content: Record<string, { schema: Schema }>
    },
  )
  const schema = response.content[mediaType]?.schema ?? {}
  if (rules.page === undefined) return typeOf(context, schema, 'got', typeName(id))
  const { items = {} } = resolved(document, resolved(document, schema).properties?.['data'] ?? {})
  return typeOf(context, items, 'got', `${typeName(id)}Item`)
}

function bodyType(context: Context, operation: SdkOperation): string | undefined {
  if (operation.body === 'none') return undefined
  const schema = operationOf(context, operation)?.requestBody?.content['application/json']?.schema ?? {}
  return typeOf(context, schema, 'given', `${typeName(operation.id)}Body`)
}

function queryType(context: Context, operation: SdkOperation): string | undefined {
  if (operation.query === 'none') return undefined
  const own = (operationOf(context, operation)?.parameters ?? [])
    .map((parameter) => resolved(context.document, parameter) as QueryParameter)
    .filter((parameter) => parameter.in === 'query')
  const properties = own.map(({ name, description, schema }) => [
    name,
    description === undefined ? schema : { ...schema, description },
  ])
  const schema = {
    properties: Object.fromEntries(properties) as Record<string, Schema>,
    required: own.filter(({ required }) => required === true).map(({ name }) => name),
  }
  return objectType(context, schema, 'given', `${typeName(operation.id)}Query`)
}

/** @param name of the class that is made if the schema is an object without a name */
function typeOf(context: Context, schema: PythonSchema, side: Side, name: string): string {
  if (schema.$ref !== undefined) return namedType(context, schema.$ref, side)
  const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (parts !== undefined) return either(parts.map((part) => typeOf(context, part, side, name)))
  if (schema.const !== undefined) return literal([schema.const])
  if (schema.enum !== undefined) return literal(schema.enum)
  if (schema.format === 'amount' && side === 'given') return AMOUNT
  const types = [schema.type ?? 'object'].flat()
  return either(types.map((type) => simpleType(context, type, schema, side, name)))
}

function simpleType(context: Context, type: string, schema: PythonSchema, side: Side, name: string): string {
  if (type === 'array') {
    const items = typeOf(context, schema.items ?? {}, side, `${name}Item`)
    return side === 'given' ? `Sequence[${items}]` : `list[${items}]`
  }
  if (type !== 'object') return SIMPLE[type] ?? 'Any'
  if (schema.properties !== undefined) return objectType(context, schema, side, name)
  return side === 'given' ? 'Mapping[str, Any]' : 'dict[str, Any]'
}

function namedType(context: Context, ref: string, side: Side): string {
  const name = ref.split('/').at(-1) ?? ''
  const schema = context.document.components.schemas[name] as PythonSchema
  if (schema.oneOf === undefined) return typeOf(context, schema, side, name)
  const parts = schema.oneOf.map((part) => typeOf(context, part, side, name))
  const text = `${name} = ${either(parts)}`
  if ((context.unions.get(name) ?? text) !== text)
    throw new RangeError(`${name}: one of several in requests and answers`)
  context.unions.set(name, text)
  return name
}

function objectType(context: Context, schema: PythonSchema, side: Side, wanted: string): string {
  const { classes, made } = context
  const key = `${wanted} ${side}`
  const known = made.get(key)
  if (known !== undefined) return known
  const name = classes.has(wanted) ? wanted + GIVEN : wanted
  made.set(key, name)
  classes.set(name, '') // the place in the file; an object may contain itself
  const fields = Object.entries(schema.properties ?? {}).map(([field, one]) => {
    const type = typeOf(context, one, side, name + typeName(field))
    const needed = schema.required?.includes(field) === true ? type : `NotRequired[${type}]`
    return `    ${field}: ${needed}\n${docOf(one)}`
  })
  const body = docOf(schema) + fields.join('')
  classes.set(name, `class ${name}(TypedDict):\n${body === '' ? '    pass' : body.trimEnd()}`)
  return name
}

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  boolean: 'bool',
  null: 'None',
}

/** A type that is one of several, each once. */
function either(types: readonly string[]): string {
  const all = [...new Set(types.flatMap((type) => (isPlainUnion(type) ? type.split(' | ') : [type])))]
  return [...all.filter((type) => type !== 'None'), ...all.filter((type) => type === 'None')].join(' | ')
}

const isPlainUnion = (type: string): boolean => !type.includes('[')

const literal = (values: readonly unknown[]): string => {
  const texts = values.filter((value) => value !== null).map(pythonOf)
  return `Literal[${texts.join(', ')}]${values.includes(null) ? ' | None' : ''}`
}

const pythonOf = (value: unknown): string =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value)

/** A description as a docstring below its field, where editors look for it. */
function docOf({ description }: PythonSchema): string {
  if (description === undefined) return ''
  const lines = description.replaceAll('\\', '\\\\').replaceAll('"', "'").trim().split('\n')
  return `    """${lines.map((line) => line.trim()).join('\n    ')}"""\n`
}

/** `createApiKey` and `api_key` as the name of a class. */
export const typeName = (name: string): string =>
  name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
