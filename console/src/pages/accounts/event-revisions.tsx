import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { revisionListing } from '../../api/queries/events.ts'
import { useReadList } from '../../api/use-read.ts'
import { eventChanges } from '../../format/event-changes.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Diff } from '../../parts/diff.tsx'
import { Instant } from '../../parts/instant.tsx'
import { KeyName } from '../../parts/key-name.tsx'
import { Panel } from '../../parts/panel.tsx'
import type { Source } from '../../parts/sources.ts'
import { Text } from '../../parts/text.tsx'

type Revision = Schema<'EventRevision'>

/** The versions of an event, one below the other: what each correction changed, and which key made it. */
export function EventRevisions({ eventId, source }: { eventId: string; source: Source | undefined }) {
  const list = useReadList(revisionListing(useClient(), eventId))
  return (
    <Panel heading="Revisions" read={list}>
      {(revisions) => (
        <>
          <ol className="revisions">
            {revisions.map((revision, index) => (
              <li key={revision.revision} className="revisions__one">
                <Revision revision={revision} before={revisions[index - 1]} source={source} />
              </li>
            ))}
          </ol>
          {revisions.length === 1 && <p className="soft">It was never corrected.</p>}
          {list.hasMore && (
            <button type="button" className="button" disabled={list.isFetchingMore} onClick={list.more}>
              More
            </button>
          )}
        </>
      )}
    </Panel>
  )
}

interface RevisionProps {
  revision: Revision
  before: Revision | undefined
  source: Source | undefined
}

function Revision({ revision: { revision, event, api_key_id: keyId }, before, source }: RevisionProps) {
  if (before === undefined)
    return (
      <>
        <p className="revisions__head">
          <strong>Report</strong> <Instant at={event.accepted_at} />
        </p>
        <p>{source === undefined ? event.quantity : <AmountOf value={event.quantity} source={source} />}</p>
        {Object.keys(event.properties).length > 0 && (
          <p>
            <Text>{JSON.stringify(event.properties)}</Text>
          </p>
        )}
      </>
    )
  const isVoid = event.voided_at !== undefined && before.event.voided_at === undefined
  return (
    <>
      <p className="revisions__head">
        <strong>{isVoid ? 'Voided' : `Correction ${revision}`}</strong>{' '}
        <Instant at={event.corrected_at ?? event.accepted_at} />{' '}
        {keyId !== null && (
          <span>
            by <KeyName id={keyId} />
          </span>
        )}
      </p>
      <Diff changes={eventChanges(before.event, event)} />
    </>
  )
}
