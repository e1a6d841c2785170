import express, { type Express, type Response } from 'express'
import { errorResponder } from '../../shared/http/error-responder.ts'
import { goneSignal } from '../../shared/http/gone-signal.ts'
import { HttpError } from '../../shared/http/http-error.ts'
import { parseBody, readBody } from '../../shared/http/read-json-body.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { CommandDeps } from './command.ts'
import { runCommand } from './run-command.ts'

export interface CommandsOptions {
  deps: CommandDeps
  log: Logger
  /** Aborted when the process is about to end. This ends commands, too. */
  stopping: AbortSignal
}

/** One line of the answer to a command: a line to print, a line about progress, or finally the exit code. */
export type CommandOutput = { out: string } | { progress: string } | { exit: number }

const BODY_BYTES_MAX = 64 * 1_024

/** The HTTP service of operators' commands. It has no authentication: see open-command-socket.ts. */
export function commandsApp({ deps, log, stopping }: CommandsOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.post<'/commands/:name', { name: string }>(
    '/commands/:name',
    readBody(BODY_BYTES_MAX),
    parseBody,
    async (req, res) => {
      const { args } = (req.body ?? {}) as { args?: unknown }
      if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string'))
        throw new HttpError(400, 'args: must be a list of text')
      // The headers are sent at once. Otherwise Tally seems not to answer while a slow command runs.
      res.type('application/x-ndjson').flushHeaders()
      const exit = await runCommand(req.params.name, args, deps, log, {
        print: (line) => {
          send(res, { out: line })
        },
        showProgress: (line) => {
          send(res, { progress: line })
        },
        signal: AbortSignal.any([stopping, goneSignal(res)]),
      })
      send(res, { exit })
      res.end()
    },
  )
  app.use(() => {
    throw new HttpError(404, 'not found')
  })
  app.use(errorResponder(log))
  return app
}

function send(res: Response, line: CommandOutput): void {
  res.write(`${JSON.stringify(line)}\n`)
}
