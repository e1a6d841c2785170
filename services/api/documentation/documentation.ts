import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { RequestHandler } from 'express'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import type { StaticFiles } from '../../../shared/http/static-files.ts'

/** The types of the files of swagger-ui-dist that the page needs, by file name. */
const VIEWER_FILES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
}

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Tally: HTTP API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" href="data:,">
  </head>
  <body>
    <main id="viewer"></main>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

/** Why there is no validator: Swagger UI would send the document to a server of its makers. */
const START = `SwaggerUIBundle({
  url: '/openapi.yaml',
  dom_id: '#viewer',
  deepLinking: true,
  tryItOutEnabled: true,
  docExpansion: 'list',
  validatorUrl: null,
})
`

/** The page may load only its own scripts and styles. Inline styles are allowed, because the viewer writes them. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** GET /openapi.yaml: the contract. */
export function getOpenApi(): RequestHandler {
  const document = readFileSync(path.join(PROJECT_ROOT, 'openapi.yaml'))
  return (_req, res) => {
    res.type('application/yaml').send(document)
  }
}

/** GET /docs: the contract as a page. */
export const getDocs: RequestHandler = (_req, res) => {
  res.set('Content-Security-Policy', PAGE_POLICY).type('text/html').send(PAGE)
}

/** The files that the page loads, by path. */
export function docsFiles(): StaticFiles {
  const folder = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const files = Object.entries(VIEWER_FILES).map(
    ([name, type]) => [`/docs/${name}`, { type, content: readFileSync(path.join(folder, name)) }] as const,
  )
  return new Map([...files, ['/docs/start.js', { type: 'text/javascript', content: Buffer.from(START) }]])
}
