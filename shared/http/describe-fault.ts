import type { Request } from 'express'
import { findAmountFault } from '../amount/amount.ts'
import type { OpenApiDocument, Operation, Schema } from './openapi-document.ts'
import { memberSchema, requestSchema, schemaOfKind } from './request-schema.ts'

/** A part of a request that violates openapi.yaml, and the violated keyword. */
export interface SchemaFault {
  /** In the validator's form: `/body/events/3/quantity`. */
  path: string
  /** A keyword of JSON Schema: `pattern`. */
  keyword: string
  /** The validator's own message. */
  message: string
}

type DescribeFault = (fault: SchemaFault, req: Partial<Pick<Request, 'body' | 'query' | 'params'>>) => string

/**
 * Makes a function that describes a fault for the client: the field, the fault, and, if its schema has them, a title
 * and an example.
 */
export function faultDescriber(document: OpenApiDocument, operation: Operation): DescribeFault {
  return (fault, req) => {
    const [, where = '', ...names] = fault.path.split('/')
    let value = memberOf(req, where)
    let outer: Schema = {}
    let schema = requestSchema(document, operation, where) ?? {}
    for (const name of names) {
      outer = schemaOfKind(document, schema, value)
      value = memberOf(value, name)
      schema = memberSchema(document, outer, name) ?? {}
    }
    return `${labelOf(where, names)}: ${explain(fault, value, schema, outer)}`
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

function labelOf(where: string, names: readonly string[]): string {
  const field = names.map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`)).join('')
  return field === '' ? where || 'request' : field.replace(/^\./, '')
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
}

function explain({ keyword, message }: SchemaFault, value: unknown, schema: Schema, outer: Schema): string {
  const { type: types = '', title, format, const: constant, examples: [example] = [] } = schema
  const [type = ''] = [types].flat().filter((name) => name !== 'null')
  const such = (text: string) => (example === undefined ? '' : ` such as ${text}`)
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return `is not a field of ${outer.title ?? 'this request'}`
    case 'type':
      return `must be ${TYPES[type] ?? type}${such(JSON.stringify(example))}`
    case 'minLength':
      return value === '' ? 'must not be empty' : message
    case 'minItems':
      return Array.isArray(value) && value.length === 0 ? 'must not be empty' : message
    case 'const':
      return `must be ${JSON.stringify(constant)}, or left out`
    default:
      return (
        (format === 'amount' && typeof value === 'string' ? findAmountFault(value) : undefined) ??
        (title === undefined ? message : `${shown(value)} is not ${title}${such(String(example))}`)
      )
  }
}

const SHOWN_MAX = 60

function shown(value: unknown): string {
  const text = typeof value === 'string' && value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value
  return JSON.stringify(text)
}
