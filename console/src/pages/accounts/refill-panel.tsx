import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { refillConfigurationListing, refillListing } from '../../api/queries/grants.ts'
import { useReadList } from '../../api/use-read.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Decimal } from '../../parts/decimal.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import type { Source } from '../../parts/sources.ts'
import { RefillDialog, SwitchRefill } from './refill-dialog.tsx'

type Refill = Schema<'Refill'>

/** Whether and how the balance of a metric is refilled, and what each refill was computed from. */
export function RefillPanel({ accountId, source }: { accountId: string; source: Source }) {
  const client = useClient()
  const list = useReadList(
    refillConfigurationListing(client, { account_id: accountId, metric_id: source.id }),
  )
  const [isOpen, setOpen] = useState(false)
  const mayWrite = client.may('write:all')
  return (
    <>
      <Panel
        heading={`Refills, ${source.label}`}
        read={list}
        tools={
          mayWrite &&
          list.data !== undefined && (
            <button type="button" className="button" onClick={() => setOpen(true)}>
              {list.data.length === 0 ? 'Set up refills' : 'Change'}
            </button>
          )
        }
      >
        {([configuration]) => (
          <>
            {configuration === undefined ? (
              <Empty>
                <p>
                  <strong>The balance is not refilled.</strong> A refill grants what is missing up to a
                  target, as soon as the balance is below a minimum.
                </p>
              </Empty>
            ) : (
              <>
                <p className="refill__rule">
                  <Chip tone={configuration.is_active ? 'good' : 'warn'}>
                    {configuration.is_active ? 'active' : 'paused'}
                  </Chip>
                  <span>
                    below <AmountOf value={configuration.minimum_balance} source={source} />, up to{' '}
                    <AmountOf value={configuration.target_balance} source={source} />
                  </span>
                  {mayWrite && <SwitchRefill configuration={configuration} />}
                </p>
              </>
            )}
            {isOpen && (
              <RefillDialog
                accountId={accountId}
                source={source}
                configuration={configuration}
                onClose={() => setOpen(false)}
              />
            )}
          </>
        )}
      </Panel>
      {list.data !== undefined && list.data.length > 0 && <Refills accountId={accountId} source={source} />}
    </>
  )
}

/** The refills so far. They are an answer of their own, with an age of its own. */
function Refills({ accountId, source }: { accountId: string; source: Source }) {
  const list = useReadList(refillListing(useClient(), accountId, source.id))
  return (
    <Panel heading={`Refills so far, ${source.label}`} read={list}>
      {(refills) =>
        refills.length === 0 ? (
          <Empty>Nothing was refilled yet.</Empty>
        ) : (
          <DataTable
            caption="Refills, newest first"
            columns={REFILL_COLUMNS}
            rows={refills}
            keyOf={({ grant_id: id }) => id}
            hasMore={list.hasMore}
            isFetchingMore={list.isFetchingMore}
            onMore={list.more}
          />
        )
      }
    </Panel>
  )
}

const REFILL_COLUMNS: readonly Column<Refill>[] = [
  { heading: 'Refill', cell: ({ occurrence }) => occurrence },
  {
    heading: 'Amount',
    isNumber: true,
    numberOf: ({ amount }) => amount,
    cell: ({ amount }) => <Decimal value={amount} />,
  },
  { heading: 'At', cell: ({ effective_at: at }) => <Instant at={at} /> },
  {
    heading: 'Computed from',
    cell: ({ target_balance: target, grant_total: granted, usage_total: used }) => (
      <>
        <Decimal value={target} /> − (<Decimal value={granted} /> granted − <Decimal value={used} /> used)
      </>
    ),
  },
]
