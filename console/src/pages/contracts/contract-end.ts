import type { Schema } from '../../api/contract.ts'

type Ending = Pick<Schema<'ContractSummary'>, 'ends_at' | 'cancellation'>

/** The time at which a contract ends, as far as it is known. */
export const endOf = ({ ends_at: endsAt, cancellation }: Ending): number | null =>
  cancellation === null ? endsAt : Math.min(cancellation.cancel_at, endsAt ?? Infinity)
