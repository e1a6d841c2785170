import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { runCli } from '../../../clients/cli/src/run-cli.ts'

/** The result of a command. */
export interface Outcome {
  code: number
  /** Standard output and standard error as text. */
  out: string
  err: string
}

export interface RunOptions {
  env?: Record<string, string>
  /** Standard input. */
  input?: string
  /** How many columns the terminal has; without it, the output goes elsewhere. */
  columns?: number
  signal?: AbortSignal
  /** What a person types, who is asked; without it, nobody can be asked. */
  typed?: string
  now?: number
}

/** Runs `tally` within this process. */
export async function runTally(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { env = {}, input = '', columns, typed, signal = new AbortController().signal } = options
  const outcome: Outcome = { code: 0, out: '', err: '' }
  const given = Readable.from([Buffer.from(typed ?? input)])
  const isTTY = typed !== undefined
  outcome.code = await runCli(args, {
    env: { XDG_CONFIG_HOME: '/nowhere', DATA_DIR: '/nowhere', ...env },
    input: Object.assign(given, { isTTY, setRawMode: () => undefined }),
    out: (line) => {
      outcome.out += `${line}\n`
    },
    err: (line) => {
      outcome.err += `${line}\n`
    },
    prompt: (text) => {
      outcome.err += text
    },
    columns,
    signal,
    now: () => options.now ?? Math.floor(Date.now() / 1_000),
  })
  return outcome
}

/** A server that answers instead of Tally. */
export interface FakeTally {
  url: string
  /** The requests that came, as `GET /v2/accounts`, with the keys they had. */
  requests: { target: string; key: string | undefined }[]
  end: () => Promise<void>
}

export async function startFakeTally(answer: RequestListener): Promise<FakeTally> {
  const requests: FakeTally['requests'] = []
  const server = createServer((req, res) => {
    requests.push({ target: `${req.method ?? ''} ${req.url ?? ''}`, key: req.headers['x-api-key'] as string })
    answer(req, res)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    end: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What `GET /v2/caller` answers. */
export const CALLER = {
  company: { id: 'c', name: 'Acme Cloud', mode: 'live' },
  api_key: { id: 'k', name: 'first key' },
  now: 1_790_000_000,
}
