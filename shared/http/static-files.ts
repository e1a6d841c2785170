import type { RequestHandler } from 'express'

/** A file that is served unchanged. It is a part of a web page, and not in openapi.yaml. */
export interface StaticFile {
  type: string
  content: Buffer
  /** The content in encodings that a browser may accept, the best one first. */
  encoded?: readonly { encoding: string; content: Buffer }[]
  headers?: Readonly<Record<string, string>>
}

/** Files by path. */
export type StaticFiles = ReadonlyMap<string, StaticFile>

/**
 * Serves files from memory. Every other request continues to the next handler.
 *
 * @param find returns the file of a path, if there is one
 */
export function serveFiles(find: (path: string) => StaticFile | undefined): RequestHandler {
  return (req, res, next) => {
    const file = req.method === 'GET' ? find(req.path) : undefined
    if (file === undefined) {
      next()
      return
    }
    res.set(file.headers ?? {}).type(file.type)
    if (file.encoded === undefined) {
      res.send(file.content)
      return
    }
    res.set('Vary', 'Accept-Encoding')
    // Each is asked for alone: asked for all at once, Express would return the one that the browser names first.
    const found = file.encoded.find(({ encoding }) => req.acceptsEncodings(encoding) !== false)
    if (found !== undefined) res.set('Content-Encoding', found.encoding)
    res.send((found ?? file).content)
  }
}
