import { useClient } from '../api/client.ts'
import { accountReading } from '../api/queries/accounts.ts'
import { useReads } from '../api/use-read.ts'

/** Reads the names of some accounts. @returns the name of an account by its id; the id until it is read */
export function useAccountNames(ids: readonly string[]): (id: string) => string {
  const client = useClient()
  const { data: accounts } = useReads(
    [...new Set(ids)].map((id) => accountReading(client, id)),
    false,
  )
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  return (id) => names.get(id) ?? id
}
