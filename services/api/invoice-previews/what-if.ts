import type { RequestOf } from '../../../shared/http/operation.ts'
import type { WhatIf } from '../../../shared/previews/preview-invoice.ts'
import { cancelContract, changeLines } from '../contracts/change-contract.ts'

/** Changes that a preview may try out. */
type WhatIfBody = Pick<RequestOf<'previewInvoice'>['body'], 'changes' | 'cancel_at'>

/**
 * Makes the function that tries out the change and then the cancellation. Both are checked like real ones.
 *
 * @param now in Unix seconds
 * @returns undefined when the request has neither
 */
export function whatIfOf(
  contractId: string,
  { changes, cancel_at: cancelAt }: WhatIfBody,
  now: number,
): WhatIf | undefined {
  if (changes === undefined && cancelAt === undefined) return undefined
  const then = () => Promise.resolve(now)
  return async (db, namespaceId) => {
    if (changes !== undefined) await changeLines(db, namespaceId, contractId, changes, then)
    if (cancelAt !== undefined)
      await cancelContract(db, namespaceId, contractId, { mode: 'at', cancelAt, reason: null }, then)
  }
}
