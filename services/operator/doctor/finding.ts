import { withinMs } from '../../../shared/time/within-ms.ts'

/** How bad a finding is. A warning can wait, a failure cannot. */
export type Level = 'ok' | 'warning' | 'failed'

/** The result of a check of one part of an installation. */
export interface Finding {
  /** The name that operators use: `PostgreSQL`, `topic usage-events`. */
  part: string
  level: Level
  /** The result in words, and the advice. */
  says: string
}

export const ok = (part: string, says: string): Finding => ({ part, level: 'ok', says })
export const warning = (part: string, says: string): Finding => ({ part, level: 'warning', says })
export const failed = (part: string, says: string): Finding => ({ part, level: 'failed', says })

/** A check of one part. */
export interface Check {
  part: string
  look: () => Promise<Finding[]>
}

/** The time limit of a check, so that an engine that hangs does not hold up the other checks. */
const LOOK_MS = 20_000

/** Runs all checks at once. A check that throws becomes a finding, too. The findings are in the order of the checks. */
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

/** Returns the message of an error in one line. Of several errors it takes the first. */
function messageOf(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return messageOf(err.errors[0])
  const text = err instanceof Error ? err.message : String(err)
  return text.replaceAll(/\s+/g, ' ').trim()
}
