import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { grantListing } from '../../api/queries/grants.ts'
import { useReadList } from '../../api/use-read.ts'
import { useUrlQuery } from '../../app/url.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Select } from '../../parts/choice.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { Text } from '../../parts/text.tsx'
import { EndGrantDialog, type Ending } from './end-grant-dialog.tsx'
import { NewGrantDialog } from './new-grant-dialog.tsx'

type Grant = Schema<'Grant'>

/** The grants of an account in one source. */
export function GrantsPanel({ account, source }: { account: Schema<'Account'>; source: Source }) {
  const client = useClient()
  const [{ grants: typed }, change] = useUrlQuery()
  const status = STATUSES.find((known) => known === typed)
  const filter = status === undefined ? {} : { status }
  const list = useReadList(
    grantListing(client, { account_id: account.id, ...sourceQuery(source), ...filter }),
    { keepsEarlier: true },
  )
  const [open, setOpen] = useState<'new' | Ending>()
  const mayWrite = client.may('write:all')
  const close = () => setOpen(undefined)
  return (
    <Panel
      heading={`Grants, ${source.label}`}
      read={list}
      tools={
        <>
          <Select
            label="Status"
            isLabelHidden
            options={[
              { value: '', label: 'All' },
              ...STATUSES.map((known) => ({ value: known, label: known })),
            ]}
            value={status ?? ''}
            onChange={(value) => change({ grants: value === '' ? undefined : value })}
          />
          {mayWrite && (
            <button type="button" className="button" onClick={() => setOpen('new')}>
              Grant
            </button>
          )}
        </>
      }
    >
      {(grants) => (
        <>
          {grants.length === 0 ? (
            <NoGrant status={status} />
          ) : (
            <DataTable
              caption="Grants, newest first"
              columns={columnsOf(source, mayWrite ? setOpen : undefined)}
              rows={grants}
              keyOf={({ id }) => id}
              hasMore={list.hasMore}
              isFetchingMore={list.isFetchingMore}
              onMore={list.more}
            />
          )}
          {open === 'new' && <NewGrantDialog accountId={account.id} source={source} onClose={close} />}
          {open !== undefined && open !== 'new' && (
            <EndGrantDialog ending={open} source={source} onClose={close} />
          )}
        </>
      )}
    </Panel>
  )
}

function NoGrant({ status }: { status: Grant['status'] | undefined }) {
  return (
    <Empty>
      {status === undefined ? (
        <p>
          <strong>Nothing was granted.</strong> The balance is minus the usage. A grant adds credit from an
          instant on, until it ends.
        </p>
      ) : (
        <p>
          <strong>No grant is {status}.</strong>
        </p>
      )}
    </Empty>
  )
}

const STATUSES = ['active', 'scheduled', 'expired', 'voided', 'archived'] as const

const TONES: Record<Grant['status'], 'good' | 'warn' | 'plain'> = {
  active: 'good',
  scheduled: 'warn',
  voided: 'plain',
  archived: 'plain',
  expired: 'plain',
}

function columnsOf(source: Source, onEnd: ((ending: Ending) => void) | undefined): Column<Grant>[] {
  return [
    {
      heading: 'Amount',
      isNumber: true,
      numberOf: ({ amount }) => amount,
      cell: ({ amount }) => <AmountOf value={amount} source={source} />,
    },
    { heading: 'Status', cell: ({ status }) => <Chip tone={TONES[status]}>{status}</Chip> },
    { heading: 'Counts from', cell: ({ effective_at: at }) => <Instant at={at} /> },
    { heading: 'Until', cell: ({ expires_at: at }) => (at === undefined ? 'no end' : <Instant at={at} />) },
    {
      heading: 'Description',
      cell: ({ id, description }) => (
        <>
          {description !== undefined && description !== '' && <Text>{description}</Text>} <Id value={id} />
        </>
      ),
    },
    ...(onEnd === undefined ? [] : [endColumn(onEnd)]),
  ]
}

const endColumn = (onEnd: (ending: Ending) => void): Column<Grant> => ({
  heading: 'End it for good',
  cell: (grant) =>
    grant.status !== 'active' && grant.status !== 'scheduled' ? null : (
      <span className="row-actions">
        <button
          type="button"
          className="button button--small button--bad"
          onClick={() => onEnd({ grant, by: 'void' })}
        >
          Void
        </button>
        <button
          type="button"
          className="button button--small button--bad"
          onClick={() => onEnd({ grant, by: 'archive' })}
        >
          Archive
        </button>
      </span>
    ),
})
