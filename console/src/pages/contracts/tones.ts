import type { Schema } from '../../api/contract.ts'

const TONES = { active: 'good', scheduled: 'warn', canceled: 'plain', ended: 'plain' } as const

/** The colour of a contract's status. */
export const toneOf = (status: Schema<'ContractStatus'>): 'good' | 'warn' | 'plain' => TONES[status]
