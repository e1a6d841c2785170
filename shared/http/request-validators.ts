import type { RequestHandler } from 'express'
import { OpenApiSpecLoader } from 'express-openapi-validator/dist/framework/openapi.spec.loader.js'
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js'
import { findAmountFault } from '../amount/amount.ts'
import type { OpenApiDocument, Schema } from './openapi-document.ts'
import { kindsOf } from './request-schema.ts'

const REFERENCE = /"#\/components\/(\w+)\/([\w.-]+)"/g

type ApiSpec = ConstructorParameters<typeof OpenApiSpecLoader>[0]['apiDoc']

/**
 * Validators of requests, one for each path, each with a document of that path only. express-openapi-validator finds
 * the route of each request by compiling the patterns of all routes, one after the other. That is slow with all paths
 * in one document.
 *
 * Why not its `middleware`: for each document it compiles the schema of all OpenAPI documents, even when that check is
 * turned off, which makes every start slow. Here the document is loaded once, and each path gets only the parts that it
 * refers to.
 *
 * @param validateResponses also checks Tally's own answers: for tests
 * @returns the handlers that check requests of a path of the document
 */
export function requestValidators(
  document: OpenApiDocument,
  validateResponses: boolean,
): (path: string) => RequestHandler[] {
  const looked = withKindsAsConditions(document, validateResponses ? document : withoutResponses(document))
  const whole = new OpenApiSpecLoader({
    apiDoc: looked as unknown as ApiSpec,
    validateApiSpec: false, // the tests check it
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
 * Removes the responses: nothing reads them, and everything that they refer to would be compiled for every path at the
 * start.
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
 * Replaces each `oneOf` that has a discriminator by conditions. Then the first fault is a fault of the kind that was
 * meant, and only the defaults of that kind are filled in. For `oneOf`, the faults of all kinds would be reported,
 * without their kinds.
 *
 * Why not the discriminators of express-openapi-validator and Ajv: the former answers 500 when there is no body. Ajv
 * refuses a discriminator with a mapping from values to kinds, as OpenAPI wants it.
 *
 * @param document the document by which references are resolved
 * @param part a part of the document; a copy is returned
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

/** A document of one path and the components it needs; a copy, because the validator changes it. */
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
