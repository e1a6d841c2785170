import { ANSWER_BYTES_MAX, type Transport } from './transport.ts'

/**
 * Sends by the fetch of the runtime.
 *
 * Why redirects are not followed: a redirect of a POST would become a GET, and the key would go to another host.
 */
export const fetchTransport = (): Transport => ({
  send: async ({ method, url, headers, body, signal }) => {
    const response = await fetch(url, {
      method,
      headers: { ...headers },
      ...(body === undefined ? {} : { body: body as string }),
      redirect: 'manual',
      signal,
    })
    const announced = Number(response.headers.get('content-length') ?? 0)
    if (announced > ANSWER_BYTES_MAX) throw new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`)
    const found: Record<string, string> = {}
    response.headers.forEach((value, name) => {
      found[name.toLowerCase()] = value
    })
    return { status: response.status, headers: found, text: await response.text() }
  },
})
