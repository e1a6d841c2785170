// Compiled, never run: a program without strict types, of an older TypeScript.
import { ApiError, Tally } from '@tally-metering/sdk'

const tally = new Tally()

export async function use(id) {
  const account = await tally.accounts.get(id)
  const name: string = account.name
  for await (const event of tally.events.list({ account_id: account.id })) console.log(event.quantity, name)
  try {
    await tally.events.report({ account_id: id, metric_id: null, currency: 'usd', quantity: 5 })
  } catch (err) {
    if (ApiError.is(err)) console.log(err.status)
  }
}
