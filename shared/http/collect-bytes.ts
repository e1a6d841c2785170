import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { askForBody } from './expect-continue.ts'
import { HttpError } from './http-error.ts'

/** Of all bodies that are being read in this process, inflated: many slow senders cannot take all memory together. */
const IN_FLIGHT_MAX = 512 * 1_024 * 1_024

let inFlight = 0

/**
 * Reads a stream to its end. Bytes are counted as they come, so that neither a long body nor a small one that inflates
 * to a long one takes more memory than the limit. On failure the stream is left paused, because the connection must
 * still bear the answer. Of a request that announces more than the limit nothing is read.
 *
 * @param tooLarge makes the error for more than bytesMax
 * @throws HttpError 503 when all that is being read together is too much
 */
export function collectBytes(stream: Readable, bytesMax: number, tooLarge: () => Error): Promise<Buffer> {
  if (stream instanceof IncomingMessage && Number(stream.headers['content-length']) > bytesMax)
    return Promise.reject(tooLarge())
  askForBody(stream)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (then: () => void) => {
      stream.off('data', take).off('end', end).off('error', fail).off('close', cut)
      inFlight -= bytes
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
      bytes += chunk.length
      inFlight += chunk.length
      if (bytes > bytesMax) fail(tooLarge())
      else if (inFlight > IN_FLIGHT_MAX) fail(tooMuchAtOnce())
      else chunks.push(chunk)
    }
    stream.on('data', take).on('end', end).on('error', fail).on('close', cut)
  })
}

/**
 * Counts a body that was read and waits to be worked on among those being read.
 *
 * @returns a function to call once it is worked on
 */
export function keepInFlight(bytes: number): () => void {
  inFlight += bytes
  return () => {
    inFlight -= bytes
  }
}

/** The same for a body that is gzip: what counts are its inflated bytes. */
export async function collectGunzipped(
  req: IncomingMessage,
  bytesMax: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  askForBody(req)
  const gunzip = createGunzip()
  req.on('error', () => gunzip.destroy())
  try {
    return await collectBytes(req.pipe(gunzip), bytesMax, tooLarge)
  } finally {
    req.unpipe(gunzip)
    gunzip.destroy()
  }
}

const tooMuchAtOnce = (): HttpError =>
  new HttpError(503, 'too many large requests are on their way, try again', { 'Retry-After': '1' })
