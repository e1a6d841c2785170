/**
 * The partition of an account's events. An account always has the same partition, so that its events keep their order.
 *
 * @param accountId `account_` and 32 hexadecimal digits. The digits are random, so the first 8 are an even hash
 */
export function partitionOfAccount(accountId: string, partitions: number): number {
  return parseInt(accountId.slice('account_'.length, 'account_'.length + 8), 16) % partitions
}
