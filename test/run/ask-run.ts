/** The PostgreSQL server of a test run. */
interface RunPostgres {
  superuserUrl: string
  ownerUrl: string
  serviceUrl: string
  /** A migrated database, which others are copied from. */
  template: string
}

/** A whole Tally that files share. Each file has its own companies. */
export interface RunTally {
  /** The URL of gateway and API together. */
  url: string
  consoleUrl: string
  gatewayUrl: string
  apiUrl: string
  /** A key of a live company, with every permission. */
  key: string
  /** A key of a test company. */
  testKey: string
  /** The origin of a web page that may call it with an account key. A file may listen there. */
  pageOrigin: string
  /** The processes that serve. */
  pids: number[]
  /** The environment of maintenance commands. */
  commandEnv: Record<string, string>
  /** The URLs of its PostgreSQL. */
  postgres: { serviceUrl: string; superuserUrl: string }
}

/** An API, a loader and a rollup service as processes with separate engines, for files that store events themselves. */
export interface RunApi {
  url: string
  /** The settings that name the engines. */
  env: Record<string, string>
}

/** The engines that files of a test run share. Each starts when the first file asks for it. */
export interface RunEngines {
  postgres: RunPostgres
  kafka: { brokers: string }
  tally: RunTally
  /** For files that run one after the other, because stored events of one file must not disturb another. */
  api: RunApi
}

/** The variable with the URL of the run, which `serveRun` sets for every process of the run. */
export const RUN_URL = 'TEST_RUN_URL'
/** The variable with the folder for all files that the run makes. */
export const RUN_FOLDER = 'TEST_RUN_FOLDER'

const asked = new Map<keyof RunEngines, Promise<unknown>>()

/** Whether this process is part of a test run. Benches use the same engines without a test run. */
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

/** All output so far of the processes of an engine of the run. */
export const outputOf = (name: keyof RunEngines): Promise<string> => ask(`${placeOf(name)}/output`)

const placeOf = (name: keyof RunEngines): string =>
  name === 'api' ? `api-of-worker-${process.env['MOCHA_WORKER_ID'] ?? '0'}` : name

async function ask(path: string): Promise<string> {
  const response = await fetch(`${process.env[RUN_URL] ?? ''}/${path}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}
