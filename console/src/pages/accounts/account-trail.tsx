import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { trailListing } from '../../api/queries/keys.ts'
import { useReadList } from '../../api/use-read.ts'
import { visibleText } from '../../format/visible-text.ts'
import { actionWords } from '../../parts/action-words.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Instant } from '../../parts/instant.tsx'
import { KeyName } from '../../parts/key-name.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Text } from '../../parts/text.tsx'

type Entry = Schema<'AuditEntry'>

/** Who made and changed an account, and what was sent. */
export function AccountTrail({ accountId }: { accountId: string }) {
  const list = useReadList(trailListing(useClient(), { resource_id: accountId }))
  return (
    <Panel heading="Trail" read={list}>
      {(entries) =>
        entries.length === 0 ? (
          <Empty>
            <p>
              <strong>No entry.</strong> What Tally makes itself, such as a seed, has none.
            </p>
          </Empty>
        ) : (
          <DataTable
            caption="Changes of this account, newest first"
            columns={COLUMNS}
            rows={entries}
            keyOf={({ id }) => id}
            hasMore={list.hasMore}
            isFetchingMore={list.isFetchingMore}
            onMore={list.more}
          />
        )
      }
    </Panel>
  )
}

const COLUMNS: readonly Column<Entry>[] = [
  { heading: 'At', cell: ({ created_at: at }) => <Instant at={at} /> },
  {
    heading: 'By',
    cell: ({ api_key_id: id }) => (id === null ? 'an operator' : <KeyName id={id} />),
  },
  { heading: 'Did', cell: ({ action }) => actionWords(action).replace('account ', '') },
  { heading: 'With', cell: ({ changes }) => <Sent changes={changes} /> },
]

function Sent({ changes }: { changes: Readonly<Record<string, unknown>> }) {
  const fields = Object.entries(changes)
  if (fields.length === 0) return null
  return (
    <ul className="plain-list">
      {fields.map(([name, value]) => (
        <li key={name}>
          <span className="soft">
            <bdi>{visibleText(name)}</bdi>
          </span>{' '}
          <Text>{typeof value === 'string' ? value : JSON.stringify(value)}</Text>
        </li>
      ))}
    </ul>
  )
}
