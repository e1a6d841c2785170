import { useClient } from '../api/client.ts'
import { Link } from '../app/link.tsx'
import { Fact } from './page.tsx'

/** Leads from the page of a resource to its changes, if the key may read them. */
export function TrailLink({ resourceId }: { resourceId: string }) {
  if (!useClient().may('manage:keys')) return null
  return (
    <Fact name="">
      <Link to="trail" parameters={{}} query={{ resource_id: resourceId }}>
        Trail
      </Link>
    </Fact>
  )
}
