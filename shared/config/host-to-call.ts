/**
 * The host in a URL for clients on this machine. If a server listens on all addresses, they use the loopback address.
 */
export function hostToCall(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
