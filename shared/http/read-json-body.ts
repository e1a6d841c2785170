import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { awaitFirstSlice } from './body-slices.ts'
import { tenantOf } from './callers.ts'
import { collectBytes, collectGunzipped } from './collect-bytes.ts'
import { HttpError } from './http-error.ts'
import { isAwaited } from './request-deadline.ts'

/** The field that a request has after its body was read. */
export interface RawBody {
  /** The bytes of the body, already inflated, which are to be parsed. */
  rawBody?: Buffer
}

/** The value of a JSON body, and the bytes that it was parsed from. */
export interface JsonBody {
  rawBody: Buffer
  body: unknown
}

/**
 * Reads the bytes of a JSON body into `req.rawBody`, unless an earlier step has read them.
 *
 * Why not express.json: it refuses a body that is too long only after it has read the whole body. It replaces broken
 * UTF-8 by question marks. It also does not keep the text, and the text is needed to find numbers that lose digits when
 * they are parsed.
 *
 * @param bytesMax the maximum number of bytes that a body may have after it is inflated
 */
export function readBody(bytesMax: number): RequestHandler {
  return (req, _res, next) => {
    if (!hasBody(req) || 'rawBody' in req) {
      next()
      return
    }
    readBytes(req, bytesMax, tenantOf(req))
      .then((rawBody) => {
        Object.assign(req, { rawBody } satisfies RawBody)
        next()
      })
      .catch(next)
  }
}

/** Parses the bytes of the body and sets `req.body`, unless an earlier step has set it. */
export const parseBody: RequestHandler = (req, res, next) => {
  const { rawBody } = req as RawBody
  if (rawBody === undefined || req.body !== undefined) {
    next()
    return
  }
  parseJson(rawBody, req, res, tenantOf(req))
    .then((body) => {
      req.body = body
      next()
    })
    .catch(next)
}

/**
 * Reads the bytes of a JSON body. Inflated bytes are counted as they arrive, so that no body takes more memory than the
 * limit.
 *
 * @param tenant the tenant of the request. One tenant cannot take all memory for bodies
 * @param types the media types that the body may have
 * @throws HttpError when the body has another type, is too large, or is cut short
 */
export async function readBytes(
  req: IncomingMessage,
  bytesMax: number,
  tenant = '',
  types: readonly string[] = ['application/json'],
): Promise<Buffer> {
  requireJson(req.headers['content-type'], types)
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity') return collect(req, bytesMax, tenant, collectBytes)
  if (encoding !== 'gzip') throw new HttpError(415, 'content-encoding: only gzip is supported')
  return collect(req, bytesMax, tenant, collectGunzipped)
}

/**
 * Parses a JSON body when its turn in the event loop comes (awaitFirstSlice).
 *
 * @throws HttpError when the body is not JSON, or the client does not wait for the answer any more
 */
export async function parseJson(
  rawBody: Buffer,
  req: IncomingMessage,
  res: ServerResponse,
  tenant = '',
): Promise<unknown> {
  await awaitFirstSlice(rawBody.length, () => isAwaited(req, res), tenant)
  return parse(rawBody)
}

/** Stores the body with its request, for later steps. */
export function keepJson(req: IncomingMessage, { rawBody, body }: JsonBody): void {
  Object.assign(req, { rawBody, body } satisfies RawBody & { body: unknown })
}

export const hasBody = (req: IncomingMessage): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0

/** The media type of a request's body, without parameters; empty if it has none. */
export const mediaTypeOf = (req: IncomingMessage): string =>
  (req.headers['content-type'] ?? '').toLowerCase().split(';', 1)[0]?.trim() ?? ''

function requireJson(contentType: string | undefined, types: readonly string[]): void {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';')
  if (!types.includes(type.trim()))
    throw new HttpError(415, `content-type: the body must be ${types.join(' or ')}`)
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw new HttpError(415, 'content-type: the charset must be utf-8')
}

async function collect(
  req: IncomingMessage,
  bytesMax: number,
  tenant: string,
  collectFrom: typeof collectGunzipped,
): Promise<Buffer> {
  try {
    const tooLarge = () => new HttpError(413, `the body is larger than ${bytesMax} bytes`)
    return await collectFrom(req, bytesMax, tooLarge, tenant)
  } catch (err) {
    if (err instanceof HttpError) throw err
    if (err instanceof Error && 'code' in err && String(err.code).startsWith('Z_'))
      throw new HttpError(400, 'the body is not valid gzip')
    if (req.destroyed) throw new HttpError(400, 'the request was cut short')
    throw new HttpError(400, 'the body could not be read')
  }
}

function parse(body: Buffer): unknown {
  if (!isUtf8(body)) throw new HttpError(400, 'the body is not valid UTF-8')
  try {
    return JSON.parse(body.toString())
  } catch (err) {
    throw new HttpError(
      400,
      `the body is not JSON: ${err instanceof Error ? err.message : 'it cannot be read'}`,
    )
  }
}
