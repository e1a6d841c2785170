import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'

interface ResponseObject {
  $ref?: string
  content?: Record<string, { schema: object }>
}

interface Operation {
  operationId: string
  responses: Record<string, ResponseObject>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, ResponseObject>; schemas: Record<string, object> }
}

/** An answer as it was received. */
export interface Answer {
  method: string
  /** The path and the query. */
  target: string
  status: number
  contentType: string
  text: string
}

/**
 * Checks every answer of a test against openapi.yaml: the operation must list the status, and the body must match its
 * schema. It records the answers, so that a test can find operations that were never tried.
 */
export class ContractChecker {
  readonly seen = new Map<string, Set<number>>()
  private readonly document = readOpenApiDocument() as unknown as Document
  private readonly ajv: Ajv2020
  private readonly validators = new Map<string, ValidateFunction>()

  constructor() {
    this.ajv = new Ajv2020({ strict: false, allErrors: true })
    for (const format of ['amount', 'int64']) this.ajv.addFormat(format, true)
    this.ajv.addSchema({ $id: 'openapi', components: this.document.components })
  }

  /** @throws Error when the answer does not match openapi.yaml */
  check(answer: Answer): void {
    const { method, target, status } = answer
    const found = this.findOperation(method, target)
    if (found === undefined) {
      if (![401, 404, 405].includes(status))
        throw new Error(`${method} ${target} is in no document, answered ${status}`)
      return
    }
    const seen = this.seen.get(found.operationId) ?? new Set()
    this.seen.set(found.operationId, seen.add(status))
    const listed = found.responses[String(status)]
    if (listed === undefined)
      throw new Error(`${found.operationId} answered ${status}, which is not documented`)
    this.checkBody(found.operationId, answer, this.resolve(listed))
  }

  private checkBody(
    operationId: string,
    { status, contentType, text }: Answer,
    response: ResponseObject,
  ): void {
    const type = contentType.split(';')[0] ?? ''
    const schema = response.content?.[type]?.schema
    if (schema === undefined) throw new Error(`${operationId} answered ${status} as ${contentType}: ${text}`)
    const body: unknown = /^application\/(.+\+)?json$/.test(type) ? JSON.parse(text) : text
    const validate = this.validatorOf(`${operationId} ${status} ${type}`, schema)
    if (!validate(body))
      throw new Error(
        `${operationId} answered ${status} with another body: ${this.ajv.errorsText(validate.errors)}: ${text}`,
      )
  }

  private validatorOf(key: string, schema: object): ValidateFunction {
    const cached = this.validators.get(key)
    if (cached !== undefined) return cached
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')
    const validate = this.ajv.compile(JSON.parse(text) as object)
    this.validators.set(key, validate)
    return validate
  }

  private resolve(response: ResponseObject): ResponseObject {
    const name = response.$ref?.replace('#/components/responses/', '')
    return name === undefined ? response : (this.document.components.responses[name] ?? {})
  }

  private findOperation(method: string, target: string): Operation | undefined {
    const path = target.split('?')[0] ?? ''
    const matching = Object.entries(this.document.paths).filter(([template]) =>
      patternOf(template).test(path),
    )
    // A path without parameters takes precedence over one with parameters, as in OpenAPI.
    const [, item] = matching.sort(([a], [b]) => a.split('{').length - b.split('{').length)[0] ?? []
    return item?.[method.toLowerCase()]
  }
}

const patternOf = (template: string): RegExp => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
