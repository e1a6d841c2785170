import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ClickHouseException } from './exception.ts'

export interface Credentials {
  /** Undefined for a Bearer token: the token alone identifies its user. */
  user: string | undefined
  password: string
}

/**
 * Finds the credentials of a request, in the three places where ClickHouse looks for them.
 *
 * @throws ClickHouseException when no place has credentials, or several have
 */
export function readCredentials(headers: IncomingHttpHeaders, url: URLSearchParams): Credentials {
  const found = [fromOwnHeaders(headers), fromAuthorization(headers), fromUrl(url)].filter(
    (one) => one !== undefined,
  )
  const [credentials] = found
  if (credentials === undefined)
    throw new ClickHouseException(
      'REQUIRED_PASSWORD',
      'Authentication is required: give a user and a password.',
    )
  if (found.length > 1)
    throw new ClickHouseException(
      'AUTHENTICATION_FAILED',
      'Invalid authentication: it is not allowed to use several ways of it simultaneously.',
    )
  return credentials
}

/** Whether name and password are the expected ones. The comparison always takes the same time. */
export const isUser = (expected: Credentials, { user = expected.user, password }: Credentials): boolean =>
  timingSafeEqual(digestOf(expected), digestOf({ user, password }))

/** The error for wrong credentials. It is the same for a wrong name and a wrong password. */
export const refusedUser = ({ user = 'token' }: Credentials): ClickHouseException =>
  new ClickHouseException(
    'AUTHENTICATION_FAILED',
    `${user}: Authentication failed: password is incorrect, or there is no user with such name.`,
  )

/** The error for every password, even the right one, after too many wrong ones from an address. */
export const tooManyGuesses = ({ user = 'token' }: Credentials, seconds: number): ClickHouseException =>
  new ClickHouseException(
    'AUTHENTICATION_FAILED',
    `${user}: Authentication failed: too many wrong passwords were tried from this address; try again in ${seconds} s.`,
  )

/** Why one digest of both values: its comparison takes the same time, whichever value differs. */
const digestOf = ({ user, password }: Credentials): Buffer =>
  hash('sha256', JSON.stringify([user, password]), 'buffer')

function fromOwnHeaders(headers: IncomingHttpHeaders): Credentials | undefined {
  const user = headers['x-clickhouse-user']
  const password = headers['x-clickhouse-key']
  if (user === undefined && password === undefined) return undefined
  return { user: String(user ?? ''), password: String(password ?? '') }
}

function fromAuthorization({ authorization }: IncomingHttpHeaders): Credentials | undefined {
  if (authorization === undefined) return undefined
  const [, token] = /^bearer\s+(\S+)\s*$/i.exec(authorization) ?? []
  if (token !== undefined) return { user: undefined, password: token }
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(authorization) ?? []
  if (encoded === undefined)
    throw new ClickHouseException(
      'AUTHENTICATION_FAILED',
      'Invalid authentication: only Basic and Bearer are supported.',
    )
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  return colon < 0
    ? { user: text, password: '' }
    : { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

function fromUrl(url: URLSearchParams): Credentials | undefined {
  const user = url.get('user')
  const password = url.get('password')
  if (user === null && password === null) return undefined
  return { user: user ?? '', password: password ?? '' }
}
