import { timingSafeEqual } from 'node:crypto'
import express, { type Express, type RequestHandler, type Response } from 'express'
import type { Logger } from '../../shared/logging/logger.ts'
import type { CommandDeps } from './command.ts'
import { runCommand } from './run-command.ts'

export interface AdminAppOptions {
  deps: CommandDeps
  /** Whether the process can do its work now. */
  isReady: () => Promise<boolean>
  /** Whoever sends this may run commands. */
  token: string
  log: Logger
}

/** One line of the answer to a command: something printed, or at last the exit code. */
export type CommandLine = { out: string } | { exit: number }

const BODY_BYTES_MAX = 64 * 1_024

/** The HTTP service for operators, on a port of its own: probes for everyone there, commands for who has the token. */
export function adminApp({ deps, isReady, token, log }: AdminAppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.get('/livez', (_req, res) => {
    res.type('text/plain').send('ok')
  })
  app.get('/readyz', async (_req, res) => {
    const ready = await isReady()
    res
      .status(ready ? 200 : 503)
      .type('text/plain')
      .send(ready ? 'ok' : 'not ready')
  })
  app.post(
    '/commands/:name',
    requireToken(token),
    express.json({ limit: BODY_BYTES_MAX }),
    async (req, res) => {
      const args = (req.body as { args?: unknown }).args
      if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) {
        res.status(400).type('text/plain').send('args: must be a list of text')
        return
      }
      res.type('application/x-ndjson')
      const exit = await runCommand(String(req.params['name']), args, deps, log, (line) => {
        send(res, { out: line })
      })
      send(res, { exit })
      res.end()
    },
  )
  return app
}

function requireToken(token: string): RequestHandler {
  const expected = Buffer.from(`Bearer ${token}`)
  return (req, res, next) => {
    const given = Buffer.from(req.get('Authorization') ?? '')
    if (given.length === expected.length && timingSafeEqual(given, expected)) next()
    else res.status(401).type('text/plain').send('wrong token')
  }
}

function send(res: Response, line: CommandLine): void {
  res.write(`${JSON.stringify(line)}\n`)
}
