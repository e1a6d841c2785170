import { ContractChecker } from './contract-checker.ts'

/** The parts of an answer. */
export interface Answered<T = never> {
  status: number
  headers: Headers
  text: string
  /** The body as JSON. */
  body: T
}

export interface RequestOptions {
  headers?: Record<string, string>
  /** A body that is sent unchanged, instead of JSON. */
  raw?: string | Uint8Array
}

const checker = new ContractChecker()

/** Sends requests to a running Tally, and checks every answer against openapi.yaml. */
export class ApiClient {
  readonly url: string
  private readonly key: string | undefined

  /** @param key the API key; undefined sends none */
  constructor(url: string, key: string | undefined) {
    this.url = url
    this.key = key
  }

  get<T>(target: string, options: RequestOptions = {}): Promise<Answered<T>> {
    return this.request<T>('GET', target, undefined, options)
  }

  post<T>(target: string, body: unknown, options: RequestOptions = {}): Promise<Answered<T>> {
    return this.request<T>('POST', target, body, options)
  }

  patch<T>(target: string, body: unknown, options: RequestOptions = {}): Promise<Answered<T>> {
    return this.request<T>('PATCH', target, body, options)
  }

  /** Sends a POST that must succeed, and returns the body of the answer. */
  async create<T>(target: string, body: unknown, options: RequestOptions = {}): Promise<T> {
    const answer = await this.post<T>(target, body, options)
    if (answer.status > 202) throw new Error(`POST ${target} answered ${answer.status}: ${answer.text}`)
    return answer.body
  }

  async request<T>(
    method: string,
    target: string,
    body: unknown,
    options: RequestOptions,
  ): Promise<Answered<T>> {
    const response = await fetch(this.url + target, {
      method,
      headers: {
        ...(this.key === undefined ? {} : { 'x-api-key': this.key }),
        ...(body === undefined && options.raw === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.raw === undefined
        ? body === undefined
          ? {}
          : { body: JSON.stringify(body) }
        : { body: options.raw }),
    })
    const text = await response.text()
    const contentType = response.headers.get('content-type') ?? ''
    checker.check({ method, target, status: response.status, contentType, text })
    const parsed = (/^application\/(\S+\+)?json/.test(contentType) ? JSON.parse(text) : undefined) as T
    return { status: response.status, headers: response.headers, text, body: parsed }
  }
}
