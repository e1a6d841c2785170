import type { TransportAnswer } from '../core/transport.ts'
import { lookUpOutcomeOf } from './core/answers.ts'
import type { LookUpOutcome } from './core/outcome.ts'

/**
 * Compares the company of the key with that of the spool, so that events are never sent to another company.
 *
 * @param noteCompany notes the company, unless one is noted. @returns the noted one
 */
export async function passGate(
  answer: TransportAnswer,
  noteCompany: (id: string) => Promise<string>,
): Promise<LookUpOutcome> {
  const id = answer.status === 200 ? companyIn(answer.text) : undefined
  // The answer has no id at its top level, so this says what is wrong with it.
  if (id === undefined) return lookUpOutcomeOf(answer, 'company', Date.now())
  const noted = await noteCompany(id)
  if (noted === id) return { kind: 'found', id }
  return { kind: 'missing', text: `the spool belongs to company ${noted}, and the key to company ${id}` }
}

function companyIn(text: string): string | undefined {
  try {
    const { company } = JSON.parse(text) as { company?: { id?: unknown } }
    return typeof company?.id === 'string' ? company.id : undefined
  } catch {
    return undefined
  }
}
