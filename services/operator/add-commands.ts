import { timingSafeEqual } from 'node:crypto'
import express, { type RequestHandler, type Response } from 'express'
import { goneSignal } from '../../shared/http/gone-signal.ts'
import type { AddRoutes } from '../../shared/service/admin-app.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { CommandDeps } from './command.ts'
import { runCommand } from './run-command.ts'

export interface CommandsOptions {
  deps: CommandDeps
  /** Whoever sends this may run commands. */
  token: string
  log: Logger
  /** Aborted when the process is to end; commands end with it. */
  stopping: AbortSignal
}

/** One line of the answer to a command: something printed, how far it has come, or at last the exit code. */
export type CommandLine = { out: string } | { progress: string } | { exit: number }

const BODY_BYTES_MAX = 64 * 1_024

/** Adds the commands of operators to an admin port, for who has the token. */
export const addCommands =
  ({ deps, token, log, stopping }: CommandsOptions): AddRoutes =>
  (app) => {
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
        // At once: a caller cannot tell a command that takes long from a Tally that does not answer.
        res.type('application/x-ndjson').flushHeaders()
        const exit = await runCommand(String(req.params['name']), args, deps, log, {
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
