/**
 * The partition of an account's events: always the same partition, so that the events keep their order.
 *
 * @param accountId `account_` and 32 hexadecimal digits; they are random, so the first 8 of them are a fair hash
 */
export function partitionOfAccount(accountId: string, partitions: number): number {
  return parseInt(accountId.slice('account_'.length, 'account_'.length + 8), 16) % partitions
}
