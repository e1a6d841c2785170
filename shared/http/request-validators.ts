import type { RequestHandler } from 'express'
import { OpenApiSpecLoader } from 'express-openapi-validator/dist/framework/openapi.spec.loader.js'
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js'
import { findAmountFault } from '../amount/amount.ts'
import { type OpenApiDocument, readOpenApiDocument, type Schema } from './openapi-document.ts'
import { kindsOf } from './request-schema.ts'

const REFERENCE = /"#\/components\/(\w+)\/([\w.-]+)"/g

type ApiSpec = ConstructorParameters<typeof OpenApiSpecLoader>[0]['apiDoc']

/**
 * Makes the validators of requests: one for each path, with a document of that path only. For each request,
 * express-openapi-validator compiles the patterns of all routes, one after the other, to find the route. That is slow
 * if all paths are in one document.
 *
 * Why not the function `middleware` of express-openapi-validator: for each document, it compiles the schema of OpenAPI
 * documents, even if the check of the document is turned off. That makes every start slow. Here the document is loaded
 * once in a process, and each path gets only the parts that it refers to, with its first request.
 *
 * @param validateResponses whether Tally's own answers are checked, too; only in tests
 * @returns the handler that checks requests of a path of openapi.yaml
 */
export function requestValidators(validateResponses: boolean): (path: string) => RequestHandler {
  const whole = loadDocument(validateResponses)
  const validatorsOf = (path: string): RequestHandler[] => {
    const alone = whole.then((spec) => ({
      ...spec,
      apiDoc: withPathAlone(spec.apiDoc as unknown as WholeDocument, path) as unknown as ApiSpec,
      routes: spec.routes.filter(({ openApiRoute }) => openApiRoute === path),
    }))
    return new OpenApiValidator({
      apiSpec: 'openapi.yaml', // only a name: `alone` is what is used
      validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false, removeAdditional: false },
      validateResponses,
      validateSecurity: false, // `authenticate` has checked the key before the body was read
      fileUploader: false,
      formats: {
        amount: { type: 'string', validate: (text: string) => findAmountFault(text) === undefined },
      },
    }).installMiddleware(alone as LoadedDocument) as RequestHandler[]
  }
  return (path) => {
    let validators: RequestHandler[] | undefined
    return (req, res, next) => {
      validators ??= validatorsOf(path)
      oneAfterTheOther(validators)(req, res, next)
    }
  }
}

type LoadedDocument = ReturnType<OpenApiSpecLoader['load']>

/** The documents of this process, by whether they have responses. */
const loaded = new Map<boolean, LoadedDocument>()

function loadDocument(withResponses: boolean): LoadedDocument {
  const earlier = loaded.get(withResponses)
  if (earlier !== undefined) return earlier
  const document = readOpenApiDocument()
  const looked = withKindsAsConditions(document, withResponses ? document : withoutResponses(document))
  const spec = new OpenApiSpecLoader({
    apiDoc: looked as unknown as ApiSpec,
    validateApiSpec: false, // the tests check the document
    $refParser: { mode: 'bundle' },
  }).load()
  loaded.set(withResponses, spec)
  return spec
}

const oneAfterTheOther =
  ([first, ...others]: readonly RequestHandler[]): RequestHandler =>
  (req, res, next) => {
    if (first === undefined) {
      next()
      return
    }
    first(req, res, (fault?: unknown) => {
      if (fault === undefined) oneAfterTheOther(others)(req, res, next)
      else next(fault)
    })
  }

/**
 * Removes the responses. The validator does not need them, but would compile all schemas that they refer to, for every
 * path.
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
 * Replaces each `oneOf` that has a discriminator by conditions. Then the first fault is one of the kind that the
 * discriminator names, and only the defaults of that kind are filled in. For `oneOf`, the validator would report the
 * faults of all kinds, and would not say of which kind each is.
 *
 * Why not the discriminators of express-openapi-validator and Ajv: express-openapi-validator answers 500 when there is
 * no body. Ajv refuses a discriminator with a mapping from values to kinds, which OpenAPI allows.
 *
 * @param document the document that references point into
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

/** A copy of the document with one path and the components that the path needs. The validator changes this copy. */
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
