import type { RequestHandler } from 'express'
import type { OpenApiDocument, Operation, Schema } from './openapi-document.ts'
import { flatten, isNullable, requestSchema } from './request-schema.ts'

/** The fields of an object that count as absent when they are null. Inner objects and lists have their own Absences. */
interface Absences {
  fields: Set<string>
  inner: Map<string, Absences>
  items: Absences | undefined
}

/**
 * Removes null fields from the body of a POST, if openapi.yaml makes them optional and allows null. Many clients send
 * null for a value that they do not have, or send back the nulls of an answer. This handler runs before the validator,
 * so that the validator fills in defaults. If null has a meaning for a field, openapi.yaml marks the field with
 * `x-null-is-a-value`.
 *
 * @returns undefined when the operation has no such field
 */
export function nullsAsAbsent(document: OpenApiDocument, operation: Operation): RequestHandler | undefined {
  const body = operation.method === 'post' ? requestSchema(document, operation, 'body') : undefined
  const absences = body && absencesOf(document, body)
  if (absences === undefined) return undefined
  return (req, _res, next) => {
    takeOut(absences, req.body)
    next()
  }
}

function absencesOf(document: OpenApiDocument, schema: Schema): Absences | undefined {
  const { oneOf = [], items, ...own } = flatten(document, schema)
  const fields = new Set<string>()
  const inner = new Map<string, Absences>()
  for (const { properties = {}, required = [] } of [own, ...oneOf.map((kind) => flatten(document, kind))])
    for (const [name, field] of Object.entries(properties)) {
      const isValue = flatten(document, field)['x-null-is-a-value'] === true
      if (!required.includes(name) && !isValue && isNullable(document, field)) fields.add(name)
      const within = absencesOf(document, field)
      if (within !== undefined) inner.set(name, within)
    }
  const ofItems = items && absencesOf(document, items)
  return fields.size + inner.size > 0 || ofItems ? { fields, inner, items: ofItems } : undefined
}

/** @param value not checked yet */
function takeOut({ fields, inner, items }: Absences, value: unknown): void {
  if (Array.isArray(value)) {
    if (items !== undefined) for (const item of value) takeOut(items, item)
  } else if (typeof value === 'object' && value !== null) {
    const object = value as Record<string, unknown>
    for (const name of Object.keys(object))
      if (object[name] === null && fields.has(name)) Reflect.deleteProperty(object, name)
      else {
        const within = inner.get(name)
        if (within !== undefined) takeOut(within, object[name])
      }
  }
}
