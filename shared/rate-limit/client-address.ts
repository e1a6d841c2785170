import type { IncomingMessage } from 'node:http'
import proxyAddr from 'proxy-addr'
import type { EnvReader } from '../config/env-reader.ts'

/** Finds the address of the client that sent a request. */
export type AddressOf = (req: IncomingMessage) => string

/** Reads the networks of the proxies in front. */
export function readTrustedProxies(read: EnvReader): string[] {
  const text = read.optional('TRUSTED_PROXIES', {
    about:
      'the networks of proxies in front, such as 10.0.0.0/8,fd00::/8 or loopback: wrong keys then count for the last address of X-Forwarded-For that is in none of them; unset: for the address of the connection',
  })
  const networks = text?.split(',').map((network) => network.trim()) ?? []
  try {
    addressBehind(networks)
  } catch {
    read.refuse('TRUSTED_PROXIES must be networks with commas between them, such as 10.0.0.0/8,fd00::/8')
  }
  return networks
}

/**
 * Makes the function that finds the address of a client. X-Forwarded-For counts only as far as trusted proxies wrote it:
 * anybody can send that header.
 *
 * @param trustedProxies the networks of proxies; `loopback`, `linklocal` and `uniquelocal` are networks, too
 * @throws TypeError when one of them is no network
 */
export function addressBehind(trustedProxies: readonly string[]): AddressOf {
  const isTrusted = trustedProxies.length === 0 ? () => false : proxyAddr.compile([...trustedProxies])
  return (req) => withoutPort(proxyAddr(req, isTrusted))
}

/** Some proxies write the port, too. Then each connection of a client would count alone. */
function withoutPort(address: string): string {
  const [, v4, v6] = /^(?:([\d.]+)|\[([^\]]+)\])(?::\d+)?$/.exec(address) ?? []
  return v4 ?? v6 ?? address
}
