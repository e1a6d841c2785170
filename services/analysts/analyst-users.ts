import { timingSafeEqual } from 'node:crypto'
import { digestOfPassword } from '../../shared/domain/analyst.ts'
import type { ValidAnalyst } from '../../shared/postgres/analysts.ts'
import { NAMES } from '../../shared/redis/names.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Credentials } from './credentials.ts'
import type { EndpointUser, EndpointUsers } from './endpoint-user.ts'

export interface AnalystUsersOptions {
  /** Reads who may sign in. */
  list: () => Promise<ValidAnalyst[]>
  /** Reports that somebody was added or revoked. */
  purges: Pick<Purges, 'onPurge'>
  serve: (analyst: ValidAnalyst) => EndpointUser
  /** Ends the queries of an analyst who was revoked. */
  endQueries: (name: string) => void
}

/** Everyone who may sign in, as read at one moment. */
interface Directory {
  byName: ReadonlyMap<string, ValidAnalyst>
  byDigest: ReadonlyMap<string, ValidAnalyst>
}

/**
 * How long a list may be used, from the time at which its reading began. So even a process that gets no purge refuses a
 * revoked analyst after this time.
 */
const FRESH_MS = 2_000

/** Compared if there is no such name, so that an unknown name takes as long as a wrong password. */
const NO_DIGEST = Buffer.alloc(32)

/**
 * The analysts of companies. They are few, so this process keeps a list of all of them. A sign-in reads the list again
 * if it is older than FRESH_MS. So guesses of names and passwords do not cost one query each.
 */
export function analystUsers({ list, purges, serve, endQueries }: AnalystUsersOptions): EndpointUsers {
  let known: Directory = { byName: new Map(), byDigest: new Map() }
  let reading: { work: Promise<Directory>; startedAt: number } | undefined

  const read = (): Promise<Directory> => {
    const work = list().then((analysts) => {
      const next = directoryOf(analysts)
      if (reading?.work !== work) return next // a later reading has begun, whose list will be kept
      for (const [digest, { name }] of known.byDigest) if (!next.byDigest.has(digest)) endQueries(name)
      known = next
      return next
    })
    const started = { work, startedAt: performance.now() }
    reading = started
    work.catch(() => {
      if (reading === started) reading = undefined // the next sign-in reads again
    })
    return work
  }
  const current = (): Promise<Directory> =>
    reading !== undefined && performance.now() - reading.startedAt < FRESH_MS ? reading.work : read()

  purges.onPurge((purge) => {
    if (typeof purge !== 'string' && purge.name !== NAMES.analysts) return
    read().catch(() => undefined) // the next sign-in reads again, and gets the error
  })
  return {
    async find(given) {
      const analyst = findIn(await current(), given)
      return analyst && serve(analyst)
    },
  }
}

const directoryOf = (analysts: readonly ValidAnalyst[]): Directory => ({
  byName: new Map(analysts.map((analyst) => [analyst.name, analyst])),
  byDigest: new Map(analysts.map((analyst) => [analyst.digest.toString('hex'), analyst])),
})

/**
 * Why a token may be looked up by its digest: the time of the look-up may tell something about the digest, but nothing
 * about the 190 random bits of the token.
 */
function findIn({ byName, byDigest }: Directory, { user, password }: Credentials): ValidAnalyst | undefined {
  const digest = digestOfPassword(password)
  if (user === undefined) return byDigest.get(digest.toString('hex'))
  const named = byName.get(user)
  return timingSafeEqual(named?.digest ?? NO_DIGEST, digest) ? named : undefined
}
