import '../pages.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { apiKeyListing, trailListing } from '../../api/queries/keys.ts'
import { useReadAll, useReadList } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { visibleText } from '../../format/visible-text.ts'
import { actionWords } from '../../parts/action-words.ts'
import { Select } from '../../parts/choice.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Name } from '../../parts/text.tsx'
import { Changes } from './changes.tsx'
import { Resource } from './resource.tsx'

type Entry = Schema<'AuditEntry'>

/** Who did what, newest first. */
export function TrailPage() {
  return (
    <>
      <PageHead heading="Trail" />
      {useClient().may('manage:keys') ? <Trail /> : <MayNotRead />}
    </>
  )
}

function MayNotRead() {
  return (
    <Empty>
      <p>
        <strong>This key may not read the trail.</strong> Sign in with a key that has <code>manage:keys</code>
        .
      </p>
    </Empty>
  )
}

function Trail() {
  const client = useClient()
  const [{ resource_id: resourceId, api_key_id: keyId }] = useUrlQuery()
  const filter = {
    ...(resourceId ? { resource_id: resourceId } : {}),
    ...(keyId ? { api_key_id: keyId } : {}),
  }
  const entries = useReadList(trailListing(client, filter), { keepsEarlier: true })
  const keys = useReadAll(apiKeyListing(client)).data ?? []
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  const isFiltered = resourceId !== undefined || keyId !== undefined
  return (
    <>
      <Filters key={`${resourceId} ${keyId}`} keys={keys} resourceId={resourceId} keyId={keyId} />
      <Panel heading="Changes" read={entries}>
        {(rows) =>
          rows.length === 0 ? (
            <NoEntry isFiltered={isFiltered} />
          ) : (
            <DataTable
              caption="Changes, newest first"
              columns={columnsOf(names)}
              rows={rows}
              keyOf={({ id }) => id}
              hasMore={entries.hasMore}
              isFetchingMore={entries.isFetchingMore}
              onMore={entries.more}
            />
          )
        }
      </Panel>
    </>
  )
}

interface FiltersProps {
  keys: readonly Schema<'ApiKey'>[]
  resourceId: string | undefined
  keyId: string | undefined
}

const RESOURCE_ID_MAX = 256

function Filters({ keys, resourceId = '', keyId = '' }: FiltersProps) {
  const [, change] = useUrlQuery()
  const [typed, setTyped] = useState(resourceId)
  const isKnown = keyId === '' || keys.some(({ id }) => id === keyId)
  const options = [
    { value: '', label: 'every key' },
    ...keys.map(({ id, name, last_characters: last }) => ({
      value: id,
      label: `${visibleText(name)} …${last}`,
    })),
    ...(isKnown ? [] : [{ value: keyId, label: visibleText(keyId) }]),
  ]
  return (
    <form
      className="row-actions trail__filters"
      onSubmit={(event) => {
        event.preventDefault()
        change({ resource_id: typed.trim() === '' ? undefined : typed.trim() })
      }}
    >
      <Select
        label="Made with"
        options={options}
        value={keyId}
        onChange={(value) => change({ api_key_id: value === '' ? undefined : value })}
      />
      <input
        className="input input--mono"
        aria-label="Id of a resource"
        placeholder="id of a resource"
        value={typed}
        maxLength={RESOURCE_ID_MAX}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => setTyped(target.value)}
      />
      <button type="submit" className="button">
        Show
      </button>
      {(resourceId !== '' || keyId !== '') && (
        <button
          type="button"
          className="button"
          onClick={() => change({ resource_id: undefined, api_key_id: undefined })}
        >
          All changes
        </button>
      )}
    </form>
  )
}

function NoEntry({ isFiltered }: { isFiltered: boolean }) {
  return (
    <Empty>
      {isFiltered ? (
        <p>
          <strong>No change matches this filter.</strong> Usage that was reported is not in the trail, and a
          test company&rsquo;s seed is not.
        </p>
      ) : (
        <p>
          <strong>Nothing was changed yet.</strong> Each request that makes or changes something leaves an
          entry here, for good. Usage that was reported does not.
        </p>
      )}
    </Empty>
  )
}

const columnsOf = (names: ReadonlyMap<string, string>): Column<Entry>[] => [
  { heading: 'When', cell: ({ created_at: at }) => <Instant at={at} /> },
  {
    heading: 'Who',
    cell: ({ api_key_id: id }) => <Who id={id} name={id === null ? undefined : names.get(id)} />,
  },
  { heading: 'What', cell: ({ action }) => actionWords(action) },
  { heading: 'Resource', cell: (entry) => <Resource entry={entry} /> },
  {
    heading: 'Fields',
    cell: ({ action, changes }) => <Changes isMade={/\.(created|issued)$/.test(action)} changes={changes} />,
  },
]

function Who({ id, name }: { id: string | null; name: string | undefined }) {
  if (id === null) return 'an operator'
  if (name === undefined) return <Id value={id} />
  return (
    <Link to="trail" parameters={{}} query={{ api_key_id: id }}>
      <Name>{name}</Name>
    </Link>
  )
}
