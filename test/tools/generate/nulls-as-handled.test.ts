import { expect } from 'chai'
import type { Request, Response } from 'express'
import { nullsAsAbsent } from '../../../shared/http/nulls-as-absent.ts'
import { listOperations, type Operation, readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import { asHandled, type Described } from '../../../tools/generate/as-handled.ts'

/** The parts of a JSON Schema that this test reads. */
interface Node {
  $ref?: string
  type?: string | string[]
  allOf?: Node[]
  anyOf?: Node[]
  oneOf?: Node[]
  properties?: Record<string, Node>
  additionalProperties?: Node | boolean
  items?: Node
}

/** A step into a body: the name of a field, an item of a list, or the number of a kind of object. */
type Step = { field: string } | { item: true } | { kind: number }

/** A nullable field of a body, and its form in the handler. */
interface Nullable {
  where: string
  /** Whether null is removed from the body before the handler gets it. */
  isTakenOut: boolean
  /** Whether the handler's types exclude null. */
  isNeverNull: boolean
}

const ANY_NAME = 'any name'

const document = readOpenApiDocument()
const handled = asHandled(document as unknown as Described)

describe('nulls in bodies', () => {
  let fields: Nullable[]

  before(() => {
    fields = listOperations(document).flatMap(nullableFields)
  })

  it('are taken out where types say that none is there, and nowhere else, in every body and at any depth', () => {
    const differing = fields.filter(({ isTakenOut, isNeverNull }) => isTakenOut !== isNeverNull)
    expect(differing).to.deep.equal([])
  })

  it('are tried in fields of each sort', () => {
    const takenOut = fields.filter(({ isTakenOut }) => isTakenOut).map(({ where }) => where)
    const kept = fields.filter(({ isTakenOut }) => !isTakenOut).map(({ where }) => where)
    expect(takenOut).to.include.members([
      'createAccount: description',
      'createContract: lines[].credit.metric_id',
      'createPrice: kind 1 minimum_amount',
    ])
    expect(kept).to.include.members([
      'updateAccount: description',
      'rotateApiKey: expires_at',
      'createPrice: kind 2 tiers[].up_to',
    ])
  })
})

function nullableFields(operation: Operation): Nullable[] {
  const own = bodyOf(document, operation)
  if (own === undefined) return []
  const types = bodyOf(handled, operation) ?? expect.fail(`${operation.operationId} has lost its body`)
  return nullablePlaces(own).map((steps) => {
    const where = `${operation.operationId}: ${textOf(steps)}`
    const typed = schemasAt(types, steps)
    expect(typed, where).not.to.deep.equal([])
    return {
      where,
      isTakenOut: !holdsNull(afterTakingOut(operation, valueAt(steps)), steps),
      isNeverNull: !typed.some((schema) => allowsNull(schema)),
    }
  })
}

function afterTakingOut(operation: Operation, body: unknown): unknown {
  const request = { body } as unknown as Request
  nullsAsAbsent(document, operation)?.(request, {} as unknown as Response, () => undefined)
  return request.body
}

const bodyOf = (of: object, { path, method }: Operation): Node | undefined => {
  type Bodies = Record<
    string,
    Record<string, { requestBody?: { content: Record<string, { schema: Node }> } }>
  >
  return (of as { paths: Bodies }).paths[path]?.[method]?.requestBody?.content['application/json']?.schema
}

/** Replaces a reference by its target, because the types have no references. */
const resolved = (node: Node): Node => {
  if (node.$ref === undefined) return node
  const names = node.$ref.replace('#/', '').split('/')
  return resolved(
    names.reduce<unknown>((outer, name) => (outer as Record<string, unknown>)[name], document) as Node,
  )
}

/** The schema, and all schemas of `allOf` for the same value, but not the alternatives. */
const partsOf = (node: Node): Node[] => {
  const own = resolved(node)
  return [own, ...[...(own.allOf ?? []), ...(own.anyOf ?? [])].flatMap(partsOf)]
}

const allowsNull = (node: Node): boolean =>
  partsOf(node).some(({ type = [] }) => [type].flat().includes('null'))

const nullablePlaces = (node: Node): Step[][] =>
  partsOf(node).flatMap((part) => [
    ...Object.entries({
      ...part.properties,
      ...(typeof part.additionalProperties === 'object' && { [ANY_NAME]: part.additionalProperties }),
    }).flatMap(([field, inner]) => [
      ...(allowsNull(inner) ? [[{ field }]] : []),
      ...within({ field }, inner),
    ]),
    ...(part.items === undefined ? [] : within({ item: true }, part.items)),
    ...(part.oneOf ?? []).flatMap((inner, kind) => within({ kind }, inner)),
  ])

const within = (step: Step, inner: Node): Step[][] => nullablePlaces(inner).map((steps) => [step, ...steps])

const schemasAt = (node: Node, [step, ...rest]: readonly Step[]): Node[] => {
  if (step === undefined) return [node]
  const next = partsOf(node).flatMap(({ properties, additionalProperties, items, oneOf }) => {
    if ('item' in step) return items ?? []
    if ('kind' in step) return oneOf?.[step.kind] ?? []
    const anyName = typeof additionalProperties === 'object' ? additionalProperties : []
    return step.field === ANY_NAME ? anyName : (properties?.[step.field] ?? [])
  })
  return next.flatMap((inner) => schemasAt(inner, rest))
}

/** A body with null at this place, and no other fields. */
const valueAt = ([step, ...rest]: readonly Step[]): unknown => {
  if (step === undefined) return null
  if ('item' in step) return [valueAt(rest)]
  return 'kind' in step ? valueAt(rest) : { [step.field]: valueAt(rest) }
}

const holdsNull = (value: unknown, [step, ...rest]: readonly Step[]): boolean => {
  if (step === undefined) return value === null
  if ('kind' in step) return holdsNull(value, rest)
  return holdsNull((value as Record<string, unknown>)['item' in step ? 0 : step.field], rest)
}

const textOf = (steps: readonly Step[]): string =>
  steps
    .map((step) => ('item' in step ? '[]' : 'kind' in step ? `kind ${step.kind} ` : `.${step.field}`))
    .join('')
    .replace(/^\./, '')
    .replaceAll(' .', ' ')
