// Compiled, never run: what a strict program may write, and what it may not.
import {
  type Answer,
  ConflictError,
  decimals,
  type Hooks,
  type Schemas,
  Tally,
  TallyError,
} from '@tally-metering/sdk'

const hooks: Hooks<number> = {
  onRequest: () => Date.now(),
  onResponse: (_, startedAt) => startedAt.toFixed(),
}
const tally = new Tally({ url: 'http://tally.test', apiKey: () => Promise.resolve('key'), hooks })

export async function use(externalId: string | undefined): Promise<string> {
  const account: Schemas['Account'] = await tally.accounts.create({ name: 'Acme', external_id: externalId })
  const same: Answer<'getAccount'> = await tally.accounts.get(account.id, {
    signal: AbortSignal.timeout(1_000),
  })
  const properties = { model: 'large', tokens: 5, nested: { a: [1] } }
  const events = [
    { account_id: same.id, currency: 'usd', quantity: 1n, properties },
    { account_id: same.id, currency: 'usd', quantity: '0.1' },
    { account_id: same.id, currency: 'usd', quantity: 5 },
  ]
  const { accepted, event_ids } = await tally.events.reportMany({ events })
  const grants: string[] = []
  for await (const { amount } of tally.grants.list({ account_id: externalId, status: 'active' }))
    grants.push(amount)
  const page = await tally.metrics.list()
  const next = await page.next()
  const health: string = await tally.health.get()
  // @ts-expect-error An account needs a name.
  await tally.accounts.create({ description: 'a' })
  // @ts-expect-error There is no such field.
  await tally.accounts.create({ name: 'a', nam: 'b' })
  // @ts-expect-error A quantity is text, a bigint or a number.
  await tally.events.report({ account_id: 'a', currency: 'usd', quantity: true })
  // @ts-expect-error A time is a number.
  await tally.grants.create({ account_id: 'a', currency: 'usd', amount: '1', effective_at: '0' })
  // @ts-expect-error There is no such status.
  await tally.grants.list({ status: 'lost' })
  // @ts-expect-error The id is missing.
  await tally.accounts.get()
  // @ts-expect-error Amounts of answers are text.
  const wrong: number = (await tally.grants.get('grant_1')).amount
  return [accepted, event_ids[0], next?.data[0]?.name, health, wrong, decimals.add('1', 2)].join()
}

export function explain(err: unknown): string | undefined {
  if (ConflictError.is(err)) return err.faults[0]?.reason ?? err.text
  return TallyError.is(err) ? err.operation : undefined
}
