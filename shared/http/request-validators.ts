import type { RequestHandler } from 'express'
import { OpenApiSpecLoader } from 'express-openapi-validator/dist/framework/openapi.spec.loader.js'
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js'
import { findAmountFault } from '../amount/amount.ts'
import type { OpenApiDocument, Schema } from './openapi-document.ts'
import { kindsOf } from './request-schema.ts'

const REFERENCE = /"#\/components\/(\w+)\/([\w.-]+)"/g

type ApiSpec = ConstructorParameters<typeof OpenApiSpecLoader>[0]['apiDoc']

/**
 * Validators of requests, one for each path, with a document of that path alone: express-openapi-validator looks its
 * routes up by compiling the pattern of one after the other, on every request (measured: 4,200 reports of one event a
 * second against 3,650 with all paths in one document, client included).
 *
 * Why not its `middleware`: that compiles the schema of all OpenAPI documents for each document, also when told not to
 * check it (measured: 75 ms of CPU for a path, 3 s for all at every start). Here the document is loaded once, and
 * shared out, to each path no more than it refers to (1.5 s less again).
 *
 * @param validateResponses check our own answers too: for tests
 * @returns the handlers that check requests of a path of the document
 */
export function requestValidators(
  document: OpenApiDocument,
  validateResponses: boolean,
): (path: string) => RequestHandler[] {
  const looked = withKindsAsConditions(document, validateResponses ? document : withoutResponses(document))
  const whole = new OpenApiSpecLoader({
    apiDoc: looked as unknown as ApiSpec,
    validateApiSpec: false, // it is checked in the tests
    $refParser: { mode: 'bundle' },
  }).load()
  return (path) => {
    const alone = whole.then((spec) => ({
      ...spec,
      apiDoc: withPathAlone(spec.apiDoc as unknown as WholeDocument, path) as unknown as ApiSpec,
      routes: spec.routes.filter(({ openApiRoute }) => openApiRoute === path),
    }))
    return new OpenApiValidator({
      apiSpec: document as unknown as ApiSpec,
      validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false, removeAdditional: false },
      validateResponses,
      validateSecurity: false, // done before the body is read
      fileUploader: false,
      formats: {
        amount: { type: 'string', validate: (text: string) => findAmountFault(text) === undefined },
      },
    }).installMiddleware(alone as ReturnType<OpenApiSpecLoader['load']>) as RequestHandler[]
  }
}

/**
 * Nobody looks at them, and what they refer to would be compiled for every path (115 ms of 960 at the start of an API).
 */
function withoutResponses(document: OpenApiDocument): object {
  const responses = { default: { description: 'Any answer.' } }
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => [method, { ...operation, responses }]),
    ),
  ])
  return { ...document, paths: Object.fromEntries(paths) as object }
}

/**
 * Puts `oneOf` with a discriminator as conditions: the first fault is then one of the kind that was meant, and only its
 * defaults are filled in. Of `oneOf` the faults of all kinds are told, with no word of which are whose.
 *
 * Why not the discriminators of express-openapi-validator and Ajv: the one answers 500 where there is no body, the
 * other refuses a discriminator that says which value is which kind, as OpenAPI wants it.
 *
 * @param document where references lead
 * @param part of it; a copy is returned
 */
function withKindsAsConditions(document: OpenApiDocument, part: unknown): object {
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite)
    if (typeof value !== 'object' || value === null) return value
    const { discriminator, oneOf, ...rest } = Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, rewrite(inner)]),
    ) as Schema
    if (discriminator === undefined || oneOf === undefined) return { ...rest, ...(oneOf && { oneOf }) }
    const { propertyName } = discriminator
    const known = oneOf.flatMap((kind) => kindsOf(document, kind, propertyName))
    const otherwise = { required: [propertyName], properties: { [propertyName]: { enum: known } } }
    const conditions = oneOf.reduceRight<object>((last, kind) => {
      const is = { enum: kindsOf(document, kind, propertyName) }
      return { if: { required: [propertyName], properties: { [propertyName]: is } }, then: kind, else: last }
    }, otherwise)
    return { ...rest, ...conditions }
  }
  return rewrite(part) as object
}

interface WholeDocument {
  paths: Record<string, object>
  components: Record<string, Record<string, unknown>>
}

/** A document of one path and of the components it needs; its own, because the validator changes what it is given. */
function withPathAlone(document: WholeDocument, path: string): WholeDocument {
  const { securitySchemes = {} } = document.components
  const components: WholeDocument['components'] = { securitySchemes }
  const take = (part: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(REFERENCE)) {
      const taken = (components[kind] ??= {})
      if (name in taken) continue
      taken[name] = document.components[kind]?.[name]
      take(taken[name])
    }
  }
  take(document.paths[path])
  return structuredClone({ ...document, paths: { [path]: document.paths[path] ?? {} }, components })
}
