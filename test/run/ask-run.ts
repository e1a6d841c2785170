/** The PostgreSQL server of a test run. */
interface RunPostgres {
  superuserUrl: string
  ownerUrl: string
  serviceUrl: string
}

/** A whole Tally that files share, each with companies of its own. */
export interface RunTally {
  /** Of gateway and API together. */
  url: string
  gatewayUrl: string
  apiUrl: string
  /** Of a live company, with every permission. */
  key: string
  /** Of a test company. */
  testKey: string
  /** The processes that serve. */
  pids: number[]
  /** What maintenance commands are told. */
  commandEnv: Record<string, string>
  /** Where its PostgreSQL is. */
  postgres: { serviceUrl: string; superuserUrl: string }
}

/**
 * An API, a loader and a rollup service as processes on engines of their own, for files that store events themselves.
 */
export interface RunApi {
  url: string
  /** The settings that name the engines. */
  env: Record<string, string>
}

/** What files of a test run share; each is started when the first one asks. */
export interface RunEngines {
  postgres: RunPostgres
  kafka: { brokers: string }
  tally: RunTally
  /** One for the files that run one after the other: what some store must not come between others. */
  api: RunApi
}

/** Where the run answers, set for every process of it by `serveRun`. */
export const RUN_URL = 'TEST_RUN_URL'
/** Where whatever the run makes lies. */
export const RUN_FOLDER = 'TEST_RUN_FOLDER'

const asked = new Map<keyof RunEngines, Promise<unknown>>()

/** Whether this process is part of a test run: benches use the same engines without one. */
export const isInRun = (): boolean => process.env[RUN_URL] !== undefined

/**
 * An engine of the test run that this process is part of.
 *
 * @throws Error with the reason when it cannot be started
 */
export function askRun<Name extends keyof RunEngines>(name: Name): Promise<RunEngines[Name]> {
  const answer = asked.get(name) ?? ask(placeOf(name)).then((text) => JSON.parse(text) as unknown)
  asked.set(name, answer)
  return answer as Promise<RunEngines[Name]>
}

/** Everything that the processes of an engine of the run wrote so far. */
export const outputOf = (name: keyof RunEngines): Promise<string> => ask(`${placeOf(name)}/output`)

const placeOf = (name: keyof RunEngines): string =>
  name === 'api' ? `api-of-worker-${process.env['MOCHA_WORKER_ID'] ?? '0'}` : name

async function ask(path: string): Promise<string> {
  const response = await fetch(`${process.env[RUN_URL] ?? ''}/${path}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}
