import type { Client } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { newSubmission, sendSurely, type Submission } from '../../api/use-write.ts'
import type { Subject } from './subject.ts'

/** What the first steps make. */
export const [ACCOUNT, METRIC] = ['Try it', 'tokens']
const [UNIT, CREDIT] = ['tokens', '10000']

interface Part {
  submission: Submission
  /** Undefined until it is made. */
  id: string | undefined
  /** The body as it was first sent. A repeat must have the same. */
  body: unknown
}

/** How far it is. All tries of a page go on with the same one. */
export type Making = Readonly<Record<'account' | 'metric' | 'grant', Part>>

const newPart = (): Part => ({ submission: newSubmission(), id: undefined, body: undefined })

export const newMaking = (): Making => ({ account: newPart(), metric: newPart(), grant: newPart() })

/**
 * Makes an account, a metric and a grant, or what is still missing of them.
 *
 * @param now when the grant begins, in Unix seconds
 * @throws CallError when something is refused, or its outcome is unknown; call it again to go on
 */
export async function makeAll(client: Client, now: number, making: Making): Promise<Subject> {
  const make = async (part: Part, target: string, body: object): Promise<string> => {
    part.body ??= body
    part.id ??= await makePart(client, part, target)
    return part.id
  }
  const newAccount: Schema<'NewAccount'> = { name: ACCOUNT }
  const newMetric: Schema<'NewMetric'> = { name: METRIC, measurement_units: UNIT }
  const accountId = await make(making.account, '/v2/accounts', newAccount)
  const metricId = await make(making.metric, '/v2/metrics', newMetric)
  const newGrant: Schema<'NewGrant'> = {
    account_id: accountId,
    metric_id: metricId,
    amount: CREDIT,
    effective_at: now,
  }
  await make(making.grant, '/v2/grants', newGrant)
  return { accountId, metricId }
}

async function makePart(client: Client, { submission, body }: Part, target: string): Promise<string> {
  const { answer, earlier = '' } = await sendSurely<{ id: string }>(
    client,
    { method: 'POST', target, body, idempotencyKey: submission.key },
    submission,
  )
  // An earlier try whose answer was lost had made it: the refusal of the repeat names it.
  return answer?.id ?? / for ([a-z]+_[0-9a-f]{32})$/.exec(earlier)?.[1] ?? ''
}
