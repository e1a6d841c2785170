import { withinMs } from '../../../shared/time/within-ms.ts'

/** How bad it is: a warning can wait until there is time, a failure cannot. */
export type Level = 'ok' | 'warning' | 'failed'

/** What was found of a part of an installation. */
export interface Finding {
  /** As an operator calls it: `PostgreSQL`, `topic usage-events`. */
  part: string
  level: Level
  /** What is so, and what to do about it. */
  says: string
}

export const ok = (part: string, says: string): Finding => ({ part, level: 'ok', says })
export const warning = (part: string, says: string): Finding => ({ part, level: 'warning', says })
export const failed = (part: string, says: string): Finding => ({ part, level: 'failed', says })

/** Looks at one part. */
export interface Check {
  part: string
  look: () => Promise<Finding[]>
}

/** An engine that hangs must not hold up what there is to say of the others. */
const LOOK_MS = 20_000

/** Looks at all parts at once; what cannot be looked at is a finding too. In the order of the checks. */
export async function runChecks(checks: readonly Check[]): Promise<Finding[]> {
  const findings = await Promise.all(checks.map(runCheck))
  return findings.flat()
}

async function runCheck({ part, look }: Check): Promise<Finding[]> {
  try {
    return await withinMs(LOOK_MS, look(), `no answer within ${LOOK_MS / 1_000} s`)
  } catch (err) {
    return [failed(part, messageOf(err))]
  }
}

/** In one line; of several attempts the first. */
function messageOf(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return messageOf(err.errors[0])
  const text = err instanceof Error ? err.message : String(err)
  return text.replaceAll(/\s+/g, ' ').trim()
}
