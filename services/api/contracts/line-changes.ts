import type { ContractLine } from '../../../shared/domain/billing/contract.ts'
import { requireChangeable } from '../../../shared/domain/billing/contract-status.ts'
import { findSecondAtOnce } from '../../../shared/domain/billing/line-rules.ts'
import {
  isToCome,
  type NewLine,
  OPEN_LINES_MAX,
  type StoredContract,
} from '../../../shared/domain/billing/stored-contract.ts'
import { applyChange } from '../../../shared/domain/billing/timeline-change.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { RequestOf } from '../../../shared/http/operation.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'
import { type AskedLine, readLines } from './new-lines.ts'
import { requireUsable } from './require-usable.ts'

/** The body of a request that changes the lines of a contract. */
export type LineChangesBody = RequestOf<'changeContract'>['body']

/** A change of a contract's lines that has passed the checks. */
export interface LineChanges {
  /** In Unix seconds. */
  effectiveAt: number
  end: readonly string[]
  add: NewLine[]
}

/**
 * Checks a change of a contract's lines and writes nothing. The rate cards and prices of new lines stay locked until
 * the transaction ends.
 *
 * @param contract with all lines it ever had
 * @param now in whole Unix seconds
 * @throws DomainError conflict when the contract is over, or would follow two cards at once; unprocessable when
 *   effective_at lies in the past or outside the contract, when a line to be ended is not in force at that time, or for
 *   the reasons of requireUsable
 */
export async function readLineChanges(
  db: Queryable,
  namespaceId: string,
  contract: StoredContract,
  body: LineChangesBody,
  now: number,
): Promise<LineChanges> {
  const { effective_at: effectiveAt = now, end } = body
  const asked = readLines(body.add, 'add', effectiveAt)
  requireChangeable(contract, effectiveAt, now)
  for (const { line, label } of asked)
    if (line.startsAt < effectiveAt)
      throw new DomainError('unprocessable', `${label}.starts_at: lies before effective_at`)
  await requireUsable(db, namespaceId, contract, asked)
  const add = asked.map(({ line }) => line)
  const lines = applyChange<ContractLine>(contract.lines, { effectiveAt, end, add })
  requireLinesTogether(lines, asked, now)
  return { effectiveAt, end, add }
}

/**
 * Checks the lines of a contract against each other.
 *
 * @param lines all lines the contract ever had
 * @param asked the new ones among `lines`
 * @throws DomainError conflict when two lines follow a card at the same time; unprocessable when two set a minimum at
 *   the same time, or when there are too many lines that have not ended
 */
export function requireLinesTogether(
  lines: readonly ContractLine[],
  asked: readonly AskedLine[],
  now: number,
): void {
  const labelOf = (found: ContractLine) => asked.find(({ line }) => line.id === found.id)?.label ?? found.id
  const card = findSecondAtOnce(lines, 'card')
  if (card !== undefined)
    throw new DomainError(
      'conflict',
      `${labelOf(card)}.rate_card_id: the contract already follows a rate card at that time, and an account can follow only one at a time`,
    )
  const minimum = findSecondAtOnce(lines, 'minimum')
  if (minimum !== undefined)
    throw new DomainError(
      'unprocessable',
      `${labelOf(minimum)}.minimum_amount: the contract already has a minimum at that time, and can have only one at a time`,
    )
  if (lines.filter((line) => isToCome(line, now)).length > OPEN_LINES_MAX)
    throw new DomainError(
      'unprocessable',
      `a contract can have at most ${OPEN_LINES_MAX} lines that have not ended`,
    )
}
