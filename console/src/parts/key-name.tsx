import { useClient } from '../api/client.ts'
import { apiKeyListing } from '../api/queries/keys.ts'
import { useReadAll } from '../api/use-read.ts'
import { Id } from './id.tsx'
import { Name } from './text.tsx'

/** The name of a key. Without the permission to read keys, it is the id, except for the key in use. */
export function KeyName({ id }: { id: string }) {
  const client = useClient()
  const keys = useReadAll(apiKeyListing(client), { isEnabled: client.may('manage:keys') })
  const { api_key: used } = client.caller
  const name = used.id === id ? used.name : keys.data?.find((key) => key.id === id)?.name
  if (name === undefined) return <Id value={id} />
  return (
    <>
      <Name>{name}</Name>
      {used.id === id && <span className="soft"> (the key in use)</span>}
    </>
  )
}
