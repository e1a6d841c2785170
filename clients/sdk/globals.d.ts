// What the core may use of any runtime: only what Node, browsers and workers have alike. A use of anything else does not
// compile (tsconfig.core.json).
interface AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}
declare class AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

declare class URL {
  static canParse(text: string): boolean
  constructor(text: string)
  readonly protocol: string
  readonly origin: string
  readonly pathname: string
  readonly searchParams: Iterable<[string, string]>
}

declare class TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>
}
declare class TextDecoder {
  decode(bytes: Uint8Array): string
}
declare const performance: { now(): number }
declare function atob(base64: string): string

interface Timer {
  readonly timer: unique symbol
}
declare function setTimeout(callback: () => void, ms: number): Timer
declare function clearTimeout(timer: Timer): void

interface CryptoKey {
  readonly type: string
}
declare const crypto: {
  randomUUID(): string
  readonly subtle: {
    importKey(
      format: 'raw',
      key: Uint8Array<ArrayBuffer>,
      algorithm: { name: 'HMAC'; hash: 'SHA-256' },
      extractable: boolean,
      uses: 'verify'[],
    ): Promise<CryptoKey>
    verify(
      algorithm: 'HMAC',
      key: CryptoKey,
      signature: Uint8Array<ArrayBuffer>,
      signed: Uint8Array<ArrayBuffer>,
    ): Promise<boolean>
  }
}

interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: string
  redirect: 'manual'
  signal: AbortSignal
}
interface FetchAnswer {
  readonly status: number
  readonly headers: {
    get(name: string): string | null
    forEach(callback: (value: string, name: string) => void): void
  }
  text(): Promise<string>
}
declare function fetch(url: string, init: FetchInit): Promise<FetchAnswer>
