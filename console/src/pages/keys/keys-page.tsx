import '../pages.css'
import './keys.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { apiKeyListing } from '../../api/queries/keys.ts'
import { useReadAll } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { MAY } from '../../parts/keys.ts'
import { Chip, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Name, Text } from '../../parts/text.tsx'
import { NewKeyDialog } from './new-key-dialog.tsx'
import { RevokeKeyDialog } from './revoke-key-dialog.tsx'
import { RotateKeyDialog } from './rotate-key-dialog.tsx'

type ApiKey = Schema<'ApiKey'>

/** What is open over the page. A dialog holds the key that it makes, so it stands beside what is read. */
type Open = { what: 'new' } | { what: 'rotate' | 'revoke'; key: ApiKey }

/** The keys of the company. A key itself is shown once, when it is made. */
export function KeysPage() {
  return (
    <>
      <PageHead heading="Keys" />
      {useClient().may('manage:keys') ? <AllKeys /> : <MayNotManage />}
    </>
  )
}

function MayNotManage() {
  return (
    <Empty>
      <p>
        <strong>This key may not manage keys.</strong> Sign in with a key that has <code>manage:keys</code>.
      </p>
    </Empty>
  )
}

function AllKeys() {
  const client = useClient()
  const keys = useReadAll(apiKeyListing(client))
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  return (
    <>
      <Panel
        heading="API keys"
        read={keys}
        tools={
          <button type="button" className="button" onClick={() => setOpen({ what: 'new' })}>
            New key
          </button>
        }
      >
        {(all) => <Tables keys={all} onOpen={setOpen} />}
      </Panel>
      {open?.what === 'new' && <NewKeyDialog onClose={close} />}
      {open?.what === 'rotate' && <RotateKeyDialog apiKey={open.key} onClose={close} />}
      {open?.what === 'revoke' && (
        <RevokeKeyDialog apiKey={open.key} others={keys.data ?? []} onClose={close} />
      )}
    </>
  )
}

function Tables({ keys, onOpen }: { keys: readonly ApiKey[]; onOpen: (open: Open) => void }) {
  const used = useClient().caller.api_key.id
  const newestFirst = keys.toReversed()
  const active = newestFirst.filter(({ status }) => status === 'active')
  const ended = newestFirst.filter(({ status }) => status !== 'active')
  const common = columnsOf(keys, used)
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

function columnsOf(keys: readonly ApiKey[], used: string): Column<ApiKey>[] {
  const names = new Map(keys.map(({ id, name }) => [id, name]))
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
          {by === null ? 'an operator' : <MadeBy id={by} name={names.get(by)} />}, <Instant at={at} />
        </>
      ),
    },
    {
      heading: 'Last used',
      cell: ({ last_used_at: at }) => (at === null ? 'never' : <Instant at={at} />),
    },
  ]
}

function MadeBy({ id, name }: { id: string; name: string | undefined }) {
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

const doColumn = (onOpen: (open: Open) => void): Column<ApiKey> => ({
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
