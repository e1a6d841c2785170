import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { bytesInFlight, tooMuchAtOnce } from './bytes-in-flight.ts'
import { askForBody } from './expect-continue.ts'
import { HttpError } from './http-error.ts'

/**
 * Reads a stream to its end. Bytes are counted as they arrive, so that no body takes more memory than the limit, not
 * even a small body that inflates to a large one. After a failure, the stream is paused, not closed, because the answer
 * still needs the connection. If a request announces a body larger than the limit, nothing of it is read.
 *
 * @param tooLarge makes the error for more than bytesMax
 * @param tenant the tenant whose share of the memory the body takes
 * @throws HttpError 503 when all bodies in memory, or the bodies of the tenant, take too much memory
 */
export function collectBytes(
  stream: Readable,
  bytesMax: number,
  tooLarge: () => Error,
  tenant: string,
): Promise<Buffer> {
  if (stream instanceof IncomingMessage && Number(stream.headers['content-length']) > bytesMax)
    return Promise.reject(tooLarge())
  askForBody(stream)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (then: () => void) => {
      stream.off('data', take).off('end', end).off('error', fail).off('close', cut)
      bytesInFlight.give(tenant, bytes)
      then()
    }
    const fail = (err: Error) => {
      settle(() => {
        stream.pause()
        reject(err)
      })
    }
    const cut = () => {
      fail(new HttpError(400, 'the request was cut short'))
    }
    const end = () => {
      settle(() => {
        const [only] = chunks
        resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, bytes))
      })
    }
    const take = (chunk: Buffer) => {
      if (bytes + chunk.length > bytesMax) fail(tooLarge())
      else if (!bytesInFlight.take(tenant, chunk.length)) fail(tooMuchAtOnce())
      else {
        bytes += chunk.length
        chunks.push(chunk)
      }
    }
    stream.on('data', take).on('end', end).on('error', fail).on('close', cut)
  })
}

/** Reads a gzip stream to its end and inflates it. The limits of collectBytes apply to the inflated bytes. */
export async function collectGunzipped(
  req: IncomingMessage,
  bytesMax: number,
  tooLarge: () => Error,
  tenant: string,
): Promise<Buffer> {
  askForBody(req)
  const gunzip = createGunzip()
  req.on('error', () => gunzip.destroy())
  try {
    return await collectBytes(req.pipe(gunzip), bytesMax, tooLarge, tenant)
  } finally {
    req.unpipe(gunzip)
    gunzip.destroy()
  }
}
