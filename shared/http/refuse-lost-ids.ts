import type { RequestHandler } from 'express'
import { isLostInUrls } from '../domain/external-id.ts'
import { HttpError } from './http-error.ts'
import type { OpenApiDocument, Operation } from './openapi-document.ts'
import { requestSchema } from './request-schema.ts'

/**
 * Refuses new external ids that no URL can contain. A resource that already has such an id keeps its id.
 *
 * @returns undefined when the body of the operation has no external id
 */
export function refuseLostIds(document: OpenApiDocument, operation: Operation): RequestHandler | undefined {
  const { properties = {} } = requestSchema(document, operation, 'body') ?? {}
  if (!('external_id' in properties)) return undefined
  return (req, _res, next) => {
    const { external_id: id } = (req.body ?? {}) as { external_id?: string | null }
    if (typeof id === 'string' && isLostInUrls(id))
      throw new HttpError(422, `external_id: ${JSON.stringify(id)} would be lost in a URL, take another`)
    next()
  }
}
