import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { workspaceOf } from '../analysts/server-statements.ts'
import { type AnalystAddress, askAsAnalyst, type Asked } from './ask-as-analyst.ts'
import { attacks, attacksByUrl, REFUSALS, type Targets } from './attacks.ts'
import { failed, type Finding, ok, warning } from './finding.ts'

/** A user's name and password, from the environment. */
type Env = Readonly<Record<string, string | undefined>>

/** An attempt: the query, and further parameters of the URL. */
type Attempt = readonly [query: string, url: Record<string, string>]

/** A file that every Unix has, and the part of it that is searched for in answers. */
const FILE = '/etc/passwd'
const FILE_HAS = /\broot:[^\n:]*:0:0:/
/** Databases that every server shows. */
const COMMON = ['default', 'system', 'information_schema', 'INFORMATION_SCHEMA']
const COMPANY_DATABASE = /^(.+?)_(?:company_\d+|analytics)$/
/**
 * Only attempts that begin with these words and have none of CHANGES are tried, so that even those that succeed change
 * nothing.
 */
const READS = /^\(?(?:SELECT|WITH|FROM|SHOW|DESCRIBE|EXISTS|EXPLAIN)\b/
const CHANGES =
  /\b(?:INSERT|DROP|CREATE|ALTER|TRUNCATE|OPTIMIZE|RENAME|ATTACH|BACKUP|KILL|GRANT|REVOKE|UNDROP|OUTFILE|SYSTEM|SET)\b/
/** Attempts that would run long if they succeeded. They are not tried. */
const LONG = /\b(?:loop|generateRandom|sleep|sleepEachRow)\(|\bsystem\.numbers\b|(?:system\.settings, ){2}/

/**
 * Attempts that would reach files, other databases or other servers. These must be refused everywhere. Other attempts
 * must be refused only by Tally's endpoint: a ClickHouse server lets all users ask for its version or for numbers.
 */
const REACHES =
  /\/etc\/|file:|@\w+@|\b(?:url|remote|s3|executable|mysql|sqlite|merge|cluster|filesystem|icebergLocal|dictionary)\(/

/** Codes with which a ClickHouse server refuses an attempt, in addition to those of Tally. */
const SERVER_REFUSALS = [47, 115, 164, 291, 452, 492, 511, 512]
/** A server's codes for a file or an address that it tried to open, or for a query that ran too long. */
const TRIED = [74, 76, 86, 107, 159, 198, 209, 210, 279, 499, 1000]

/** How many characters of an attempt are shown. */
const SHOWN_MAX = 200

/** The part of these findings, as operators read it. */
const ANALYSTS = 'analysts'

/**
 * Tries as an analyst what no analyst may do: those attacks of Tally's own tests that only read. It asks the server at
 * the URL, and needs no running Tally on this machine.
 *
 * @param env has CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, unless the URL has user and password
 * @throws UsageError when the URL cannot be read, or has no user
 */
export async function checkAnalysts(url: string, env: Env): Promise<Finding[]> {
  const address = analystAddressOf(url, env)
  const shown = await databasesShownTo(address)
  const own = shown.find((name) => COMPANY_DATABASE.test(name))
  const database = COMPANY_DATABASE.exec(own ?? '')?.[1]
  if (own === undefined || database === undefined)
    return [failed(ANALYSTS, `${address.user} sees no database of analysts, so nothing was tried`)]
  const others = shown.filter((name) => ![...COMMON, own, workspaceOf(own)].includes(name))
  const targets = { file: FILE, written: '/dev/null/written.csv', database, analytics: own }
  return [
    ...others.map((name) => failed(ANALYSTS, `${address.user} sees the database ${name}`)),
    ...(await tryAll(await answeredAt(address, own), targets)),
  ]
}

/** @throws UsageError when a percent sign is not followed by two hexadecimal digits */
function decodeOrThrow(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new UsageError('a percent sign in the user or the password of --analysts must be written as %25')
  }
}

function analystAddressOf(text: string, env: Env): AnalystAddress {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError('--analysts takes a URL: http://HOST:PORT')
  const [inUser, inPassword] = [url.username, url.password].map(decodeOrThrow)
  const user = inUser || env['CLICKHOUSE_USER']
  const password = inPassword || env['CLICKHOUSE_PASSWORD']
  if (user === undefined || password === undefined)
    throw new UsageError(
      'an analyst and its password are needed: in the URL, or as CLICKHOUSE_USER and CLICKHOUSE_PASSWORD',
    )
  return { url: `${url.origin}${url.pathname}`, user, password, database: undefined }
}

/** @throws DomainError when it is not answered */
async function databasesShownTo(address: AnalystAddress): Promise<string[]> {
  const { code, text } = await askAsAnalyst(address, 'SHOW DATABASES FORMAT TSVRaw')
  if (code !== undefined)
    throw new DomainError('conflict', `${address.user} is not let in, so nothing was tried: ${text.trim()}`)
  return text.trim().split('\n')
}

/**
 * Where a harmless query is answered: in the analysts' database, if it can be named.
 *
 * @throws DomainError when it is not answered: then refusals would say nothing
 */
async function answeredAt(address: AnalystAddress, database: string): Promise<AnalystAddress> {
  for (const at of [{ ...address, database }, address])
    if ((await askAsAnalyst(at, 'SELECT 1')).text === '1\n') return at
  throw new DomainError('conflict', `${address.user} gets no answer to SELECT 1, so nothing was tried`)
}

async function tryAll(address: AnalystAddress, targets: Targets): Promise<Finding[]> {
  const kinds: [kind: string, attempts: Attempt[]][] = [
    ...Object.entries(attacks(targets)).map(([kind, queries]): [string, Attempt[]] => [
      kind,
      queries.map((query) => [query, {}]),
    ]),
    ['what comes in the URL', attacksByUrl(targets)],
  ]
  const findings: Finding[] = []
  for (const [kind, attempts] of kinds) {
    const harmless = attempts.filter(isHarmless)
    if (harmless.length === 0) continue
    const found: Finding[] = []
    for (const [query, url] of harmless)
      found.push(...judge([query, url], await askAsAnalyst(address, query, url), targets))
    const held = harmless.length - found.length
    findings.push(...found, ok(ANALYSTS, `${kind}: ${held} of ${harmless.length} attempts refused`))
  }
  return findings
}

const isHarmless = ([query, url]: Attempt): boolean =>
  [query, ...Object.values(url)].every((text) => !CHANGES.test(text) && !LONG.test(text)) &&
  (READS.test(query) || url['query'] !== undefined)

/** @returns no finding for an attempt that was refused */
function judge([query, url]: Attempt, { code, text, isTally }: Asked, targets: Targets): Finding[] {
  const what = [query, ...Object.entries(url).map(([name, value]) => `${name}=${value}`)].join(' with ')
  const shown = what.length > SHOWN_MAX ? `${what.slice(0, SHOWN_MAX)}…` : what
  const shows = FILE_HAS.test(text)
  if (code !== undefined && !shows) {
    if (REFUSALS.includes(code)) return []
    if (!isTally && SERVER_REFUSALS.includes(code)) return []
    const says = `not refused, but failed with code ${code}: ${shown}`
    return [isTally || TRIED.includes(code) ? failed(ANALYSTS, says) : warning(ANALYSTS, says)]
  }
  const isGrave =
    isTally || shows || REACHES.test(what) || what.includes(`${targets.database}.`) || 'role' in url
  return [isGrave ? failed(ANALYSTS, `let through: ${shown}`) : warning(ANALYSTS, `let through: ${shown}`)]
}
