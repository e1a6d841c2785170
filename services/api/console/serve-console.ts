import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { RequestHandler } from 'express'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { HttpError } from '../../../shared/http/http-error.ts'
import { serveFiles, type StaticFile, type StaticFiles } from '../../../shared/http/static-files.ts'

/** The folder that `npm run build` writes. */
const SITE = path.join(PROJECT_ROOT, 'dist/console/site')

/**
 * The page may load only its own files, and may send requests only to its own origin. Nothing may be inline, and no text
 * can become code.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** The name of each asset contains the hash of its content, so a browser may keep it for ever. */
const FOR_EVER = 'public, max-age=31536000, immutable'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.md': 'text/markdown',
  '.svg': 'image/svg+xml',
}

/** The encodings for which the build writes a second file, the best one first. */
const ENCODINGS = [
  { encoding: 'br', ending: '.br' },
  { encoding: 'gzip', ending: '.gz' },
]

/**
 * Serves the console at /console: its files from memory, and its page at every other path below, because each page of
 * the console has a path of its own. A browser that asks for / is sent there. No database is asked.
 *
 * @param folder where the built console is. Without it, the answer is 404 with a text that names the build
 */
export function serveConsole(folder = SITE): RequestHandler[] {
  const files = readSite(folder)
  const page = files.get('/index.html')
  const find = (requested: string) => {
    if (!isBelow(requested, '/console')) return undefined
    const name = requested.slice('/console'.length)
    return files.get(name) ?? (isBelow(name, '/assets') ? undefined : page)
  }
  return [sendToConsole, page === undefined ? sayNotBuilt : serveFiles(find)]
}

const isBelow = (name: string, folder: string): boolean => name === folder || name.startsWith(`${folder}/`)

const sendToConsole: RequestHandler = (req, res, next) => {
  // Only browsers name this type. Other clients accept anything, and still get the 404 of a path that does not exist.
  const isBrowser = req.method === 'GET' && req.path === '/' && req.headers.accept?.includes('text/html')
  if (isBrowser === true) res.redirect('/console')
  else next()
}

const sayNotBuilt: RequestHandler = (req, _res, next) => {
  if (req.method !== 'GET' || !isBelow(req.path, '/console')) next()
  else throw new HttpError(404, 'the console is not built: npm run build')
}

function readSite(folder: string): StaticFiles {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)))
  const all = new Set(names)
  const isEncoded = (name: string) => ENCODINGS.some(({ ending }) => name.endsWith(ending))
  return new Map(
    names.filter((name) => !isEncoded(name)).map((name) => [`/${name}`, readSiteFile(folder, name, all)]),
  )
}

function readSiteFile(folder: string, name: string, all: ReadonlySet<string>): StaticFile {
  const read = (file: string) => readFileSync(path.join(folder, file))
  return {
    type: TYPES[path.extname(name)] ?? 'application/octet-stream',
    content: read(name),
    encoded: ENCODINGS.filter(({ ending }) => all.has(name + ending)).map(({ encoding, ending }) => ({
      encoding,
      content: read(name + ending),
    })),
    headers: {
      ...(name.endsWith('.html') ? { 'Content-Security-Policy': PAGE_POLICY } : {}),
      ...(isBelow(`/${name}`, '/assets') ? { 'Cache-Control': FOR_EVER } : {}),
    },
  }
}
