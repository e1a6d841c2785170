import { StartupError } from '../../../shared/errors/startup-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { NotFoundError, type Tally } from '../../sdk/src/node.ts'

/** The source of a quantity: a metric, or a currency. */
export type Source = { metric_id: string } | { currency: string }

const ACCOUNT_ID = /^account_[0-9a-f]{32}$/
const METRIC_ID = /^metric_[0-9a-f]{32}$/
const CURRENCY = /^currency:([a-z]{3})$/i

/** Finds the id of an account, which is given by its id or its external id. */
export async function accountIdOf(client: Tally, text: string, signal: AbortSignal): Promise<string> {
  if (ACCOUNT_ID.test(text)) return text
  const externalId = requireText('ACCOUNT', text)
  return (await client.accounts.getByExternalId(externalId, { signal }).catch(named('account', text))).id
}

/** Finds a source: a metric by its id or its external id, or a currency as `currency:usd`. */
export async function sourceOf(client: Tally, text: string, signal: AbortSignal): Promise<Source> {
  const currency = CURRENCY.exec(text)?.[1]
  if (currency !== undefined) return { currency: currency.toLowerCase() }
  if (METRIC_ID.test(text)) return { metric_id: text }
  const externalId = requireText('METRIC', text)
  const { id } = await client.metrics.getByExternalId(externalId, { signal }).catch(named('metric', text))
  return { metric_id: id }
}

/** Says which one was not found. */
const named =
  (kind: 'account' | 'metric', text: string) =>
  (err: unknown): never => {
    if (!NotFoundError.is(err)) throw err
    throw new StartupError(
      `there is no ${kind} with the id or external id ${text}; tally ${kind}s list shows all`,
    )
  }

function requireText(what: string, text: string): string {
  if (text !== '' && text !== '.' && text !== '..') return text
  throw new UsageError(`${what}: ${JSON.stringify(text)} is not an id`)
}
