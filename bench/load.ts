import autocannon from 'autocannon'

export interface LoadOptions {
  url: string
  headers: Record<string, string>
  /** Sent in turn by every connection. */
  bodies: readonly Buffer[]
  connections: number
  seconds: number
}

export interface LoadResult {
  seconds: number
  /** Requests that were answered with a 2xx. */
  acknowledged: number
  p50Ms: number
  p99Ms: number
}

/**
 * Sends requests over kept-alive connections, each waiting for its answer before it sends the next.
 *
 * @throws Error when anything but a 2xx is answered: a figure with failures in it means nothing
 */
export async function load({ url, headers, bodies, connections, seconds }: LoadOptions): Promise<LoadResult> {
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: bodies.map((body) => ({ method: 'POST' as const, headers, body })),
  })
  const acknowledged = result['2xx']
  const failed = result.non2xx + result.errors + result.timeouts
  if (failed > 0 || acknowledged === 0)
    throw new Error(`${url}: ${acknowledged} requests went well, ${failed} did not`)
  return {
    seconds: result.duration,
    acknowledged,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  }
}
