import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { awaitFirstSlice } from './body-slices.ts'
import { tenantOf } from './callers.ts'
import { collectBytes, collectGunzipped } from './collect-bytes.ts'
import { HttpError } from './http-error.ts'
import { isAwaited } from './request-deadline.ts'

/** The field that a request has once its body is read. */
export interface RawBody {
  /** The bytes to parse, already inflated. */
  rawBody?: Buffer
}

/** A body of JSON, and the bytes it was parsed from. */
export interface JsonBody {
  rawBody: Buffer
  body: unknown
}

/**
 * Reads the bytes of a body of JSON into `req.rawBody`, unless they are there already.
 *
 * Why not express.json: it reads a body to its end before it refuses it as too long, and turns broken UTF-8 into
 * question marks. It also does not keep the text, which is needed to find numbers that lose digits in parsing.
 *
 * @param bytesMax the most bytes a body may have once inflated
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

/** Parses the bytes that were read, and sets `req.body`, unless it is set already. */
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
 * Reads the bytes of a body of JSON. Inflated bytes are counted as they arrive, so that no body takes more memory than
 * the limit.
 *
 * @param tenant whose body it is, so that one tenant cannot take all memory for bodies
 * @throws HttpError when the body has another type, is too large, or is cut short
 */
export async function readBytes(req: IncomingMessage, bytesMax: number, tenant = ''): Promise<Buffer> {
  requireJson(req.headers['content-type'])
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity') return collect(req, bytesMax, tenant, collectBytes)
  if (encoding !== 'gzip') throw new HttpError(415, 'content-encoding: only gzip is taken')
  return collect(req, bytesMax, tenant, collectGunzipped)
}

/**
 * Parses a body of JSON when its turn in the event loop comes (awaitFirstSlice).
 *
 * @throws HttpError when the body is not JSON, or nobody waits for the answer any more
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

function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';')
  if (type.trim() !== 'application/json')
    throw new HttpError(415, 'content-type: the body must be application/json')
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
