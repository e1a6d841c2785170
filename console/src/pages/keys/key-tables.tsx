import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { apiKeyListing } from '../../api/queries/keys.ts'
import { useReadAll } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { MAY } from '../../parts/keys.ts'
import { Chip } from '../../parts/page.tsx'
import { Name, Text } from '../../parts/text.tsx'
import { RevokeKeyDialog } from './revoke-key-dialog.tsx'
import { RotateKeyDialog } from './rotate-key-dialog.tsx'

type ApiKey = Schema<'ApiKey'>

/** The dialog of a key that is open over the page. */
export interface OpenKey {
  what: 'rotate' | 'revoke'
  key: ApiKey
}

/** The dialog that replaces a key, or ends it. */
export function KeyDialog({
  open: { what, key },
  others,
  onClose,
}: {
  open: OpenKey
  /** All keys of the list. */
  others: readonly ApiKey[]
  onClose: () => void
}) {
  if (what === 'rotate') return <RotateKeyDialog apiKey={key} onClose={onClose} />
  return <RevokeKeyDialog apiKey={key} others={others} onClose={onClose} />
}

/** Keys that work, and below them those that ended. */
export function KeyTables({ keys, onOpen }: { keys: readonly ApiKey[]; onOpen: (open: OpenKey) => void }) {
  const used = useClient().caller.api_key.id
  const newestFirst = keys.toReversed()
  const active = newestFirst.filter(({ status }) => status === 'active')
  const ended = newestFirst.filter(({ status }) => status !== 'active')
  const common = columnsOf(used)
  return (
    <>
      <DataTable
        caption="Keys that work, newest first"
        columns={[...common, endsColumn, doColumn(onOpen)]}
        rows={active}
        keyOf={({ id }) => id}
      />
      {ended.length > 0 && (
        <details className="balances__rest">
          <summary>Keys that ended: {ended.length}</summary>
          <DataTable
            caption="Keys that ended, newest first"
            columns={[...common, endedColumn, trailColumn]}
            rows={ended}
            keyOf={({ id }) => id}
          />
        </details>
      )}
    </>
  )
}

function columnsOf(used: string): Column<ApiKey>[] {
  return [
    {
      heading: 'Name',
      cell: ({ id, name, last_characters: last }) => (
        <>
          <Text>{name}</Text> <code className="soft">…{last}</code>{' '}
          {id === used && <Chip tone="good">this key</Chip>}
        </>
      ),
    },
    { heading: 'May', cell: ({ permissions }) => permissions.map((known) => MAY[known]).join(', ') },
    {
      heading: 'Made by',
      cell: ({ issued_by: by, created_at: at }) => (
        <>
          {by === null ? 'an operator' : <MadeBy id={by} />}, <Instant at={at} />
        </>
      ),
    },
    {
      heading: 'Last used',
      cell: ({ last_used_at: at }) => (at === null ? 'never' : <Instant at={at} />),
    },
  ]
}

function MadeBy({ id }: { id: string }) {
  const keys = useReadAll(apiKeyListing(useClient()))
  const name = keys.data?.find((key) => key.id === id)?.name
  return name === undefined ? <Id value={id} /> : <Name>{name}</Name>
}

const endsColumn: Column<ApiKey> = {
  heading: 'Works until',
  cell: ({ expires_at: at, replaced_by: by }) => (
    <>
      {at === undefined ? 'no end' : <Instant at={at} />}{' '}
      {by !== undefined && <Chip tone="warn">replaced</Chip>}
    </>
  ),
}

const endedColumn: Column<ApiKey> = {
  heading: 'Ended',
  cell: ({ status, revoked_at: revokedAt, expires_at: expiresAt }) => {
    const at = revokedAt ?? expiresAt
    return (
      <>
        {status} {at !== undefined && <Instant at={at} />}
      </>
    )
  },
}

const TrailOf = ({ id }: ApiKey) => (
  <Link to="trail" parameters={{}} query={{ api_key_id: id }}>
    Trail
  </Link>
)

const trailColumn: Column<ApiKey> = { heading: 'What it did', cell: (key) => <TrailOf {...key} /> }

const doColumn = (onOpen: (open: OpenKey) => void): Column<ApiKey> => ({
  heading: 'Do',
  cell: (key) => (
    <span className="row-actions keys__do">
      {key.replaced_by === undefined && (
        <button
          type="button"
          className="button button--small"
          onClick={() => onOpen({ what: 'rotate', key })}
        >
          Rotate
        </button>
      )}
      <button
        type="button"
        className="button button--small button--bad"
        onClick={() => onOpen({ what: 'revoke', key })}
      >
        Revoke
      </button>
      <TrailOf {...key} />
    </span>
  ),
})
