import { Resources } from '../resources.gen.ts'
import {
  type BalanceCheckOptions,
  type BalanceChecks,
  balanceChecks,
} from './balance-checks/balance-checks.ts'
import { type Call, makeCall } from './call.ts'
import { wait } from './deadline.ts'
import type { Hooks, Logger } from './hooks.ts'
import { type ApiKey, keySource } from './keys.ts'
import { memoryTransport } from './memory-transport.ts'
import type { Transport } from './transport.ts'
import { unwrap } from './webhooks.ts'

export interface TallyOptions {
  /** The address of Tally, without `/v2`; TALLY_URL when it is left out. */
  url?: string | undefined
  /** TALLY_API_KEY when it is left out. A function is called again when Tally refuses its key. */
  apiKey?: ApiKey | undefined
  /** How long each attempt may take, from the connection to the end of the answer; 35,000 when it is left out. */
  timeoutMs?: number | undefined
  /** How often a request is sent again after a failure; 2 when it is left out, 0 is never. */
  maxRetries?: number | undefined
  /** How many connections may be open at the same time; 16 when it is left out. It has no effect with fetch. */
  maxSockets?: number | undefined
  /** Sends the requests, instead of the transport of this runtime. */
  transport?: Transport | undefined
  hooks?: Hooks | undefined
  logger?: Logger | undefined
  /** Allows a browser to use a key of a company. Everybody who opens the page can then read and write its data. */
  dangerouslyAllowBrowser?: boolean | undefined
}

/** What a client needs of its runtime. */
export interface Platform {
  transport(maxSockets: number): Transport
  /** For tests: the waits between attempts. */
  wait?: typeof wait
  /** For tests: from 0 up to 1. */
  random?: () => number
}

const TIMEOUT_MS = 35_000
const RETRIES = 2
const SOCKETS = 16

const calls = new WeakMap<TallyClient, Call>()

/** The calls of a client, for other parts of this package. */
export function callsOf(client: TallyClient): Call {
  const call = calls.get(client)
  if (call === undefined) throw new TypeError('this is not a client of Tally')
  return call
}

/** A client of Tally. It has a method for each operation of the API, by resource. */
export class TallyClient extends Resources {
  /** Checks webhooks. */
  static readonly webhooks = { unwrap }
  /** For unit tests of your own code. */
  static readonly testing = { memoryTransport }

  /** The address of Tally. */
  readonly url: string
  readonly #transport: Transport

  /** @throws TypeError when an option is not valid */
  constructor(options: TallyOptions, platform: Platform) {
    const url = readUrl(options.url ?? environment('TALLY_URL'))
    const apiKey = options.apiKey ?? environment('TALLY_API_KEY')
    if (apiKey === undefined) throw new TypeError('apiKey is missing: give it, or set TALLY_API_KEY')
    const maxSockets = wholeNumber('maxSockets', options.maxSockets ?? SOCKETS, 1)
    const transport = options.transport ?? platform.transport(maxSockets)
    const call = makeCall({
      baseUrl: url,
      keys: keySource(apiKey, (key) => {
        if (options.dangerouslyAllowBrowser !== true) refuseInBrowser(key)
      }),
      transport,
      timeoutMs: wholeNumber('timeoutMs', options.timeoutMs ?? TIMEOUT_MS, 1),
      maxRetries: wholeNumber('maxRetries', options.maxRetries ?? RETRIES, 0),
      hooks: options.hooks ?? {},
      logger: options.logger,
      now: Date.now,
      random: platform.random ?? Math.random,
      wait: platform.wait ?? wait,
    })
    super(call)
    calls.set(this, call)
    this.url = url
    this.#transport = transport
  }

  /**
   * Makes checks of balances, for all requests of your users. A check reserves nothing: others may use the same balance at
   * the same time.
   *
   * @throws TypeError when an option is not valid
   */
  balanceChecks(options: BalanceCheckOptions = {}): BalanceChecks {
    return balanceChecks(this, options)
  }

  /** Closes open connections. A process ends without it, too. */
  close(): void {
    this.#transport.close?.()
  }

  /** The key is in no property, so no log or debugger shows it. */
  toJSON(): { url: string } {
    return { url: this.url }
  }

  /** What util.inspect shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Tally { url: '${this.url}' }`
  }
}

/** @throws TypeError when it is not an address of Tally */
function readUrl(text: string | undefined): string {
  if (text === undefined) throw new TypeError('url is missing: give it, or set TALLY_URL')
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new TypeError(`url must start with http:// or https://, not ${JSON.stringify(text)}`)
  const path = url.pathname.replace(/\/+$/, '')
  if (path.endsWith('/v2')) throw new TypeError(`url must not end in /v2: ${text}`)
  return url.origin + path
}

function wholeNumber(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value
  throw new TypeError(`${name} must be a whole number from ${min} on, not ${value}`)
}

/** The keys of one account, which a page may show to its own customer. */
const ACCOUNT_KEY = /^tally_(?:live|test)_account_/

/** @throws TypeError in a browser, unless the key is of one account */
function refuseInBrowser(key: string): void {
  const { window } = globalThis as { window?: { document?: unknown } }
  if (window?.document === undefined || ACCOUNT_KEY.test(key)) return
  throw new TypeError(
    'this page would show its API key to everybody who opens it: call Tally from a server, or use the key of an account',
  )
}

/** A variable of the environment, in runtimes that have one. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Readonly<Record<string, string | undefined>> } }
  const value = process?.env?.[name]
  return value === '' ? undefined : value
}
