import { IncomingMessage, type OutgoingHttpHeader, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import helmet, { type HelmetOptions } from 'helmet'

/**
 * The policy forbids everything, because answers are no web pages. (The page of the contract sets another policy.) HSTS
 * is the task of a TLS proxy in front of Tally.
 */
const SECURITY_HEADERS: HelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  strictTransportSecurity: false,
}

/** The headers of every answer. They are computed once, because helmet always sets the same headers. */
const COMMON_HEADERS: readonly (readonly [name: string, value: OutgoingHttpHeader])[] = [
  ...headersOfHelmet(),
  ['Cache-Control', 'no-store'],
]

export function setCommonHeaders(res: ServerResponse): void {
  for (const [name, value] of COMMON_HEADERS) res.setHeader(name, value)
}

function headersOfHelmet(): [string, OutgoingHttpHeader][] {
  const headers = new Map<string, OutgoingHttpHeader>()
  class NotedResponse extends ServerResponse {
    override setHeader(name: string, value: OutgoingHttpHeader): this {
      headers.set(name, value)
      return this
    }
  }
  const req = new IncomingMessage(new Socket())
  helmet(SECURITY_HEADERS)(req, new NotedResponse(req), () => undefined)
  return [...headers]
}
