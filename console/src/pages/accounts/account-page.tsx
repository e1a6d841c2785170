import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountBalancesReading } from '../../api/queries/balances.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'
import { type Source, useSources } from '../../parts/sources.ts'
import { AccountFrame } from './account-frame.tsx'
import { Balances } from './balances.tsx'
import { ByDay } from './by-day.tsx'
import { chosenSource } from './chosen-source.ts'
import { GrantsPanel } from './grants-panel.tsx'
import { NewGrantDialog } from './new-grant-dialog.tsx'
import { RefillPanel } from './refill-panel.tsx'

/** An account: its balances, and for one source its usage by day, its grants and its refills. */
export function AccountPage({ parameters: { accountId } }: { parameters: { accountId: string } }) {
  return (
    <AccountFrame accountId={accountId} tab="account">
      {(account) => <AccountBalance account={account} />}
    </AccountFrame>
  )
}

function AccountBalance({ account }: { account: Schema<'Account'> }) {
  const client = useClient()
  const [{ source: sourceId }, change] = useUrlQuery()
  const balances = useRead(accountBalancesReading(client, account.id))
  const sources = useSources(client)
  const [isGranting, setGranting] = useState(false)
  const source = chosenSource(sources.data, balances.data, sourceId)
  return (
    <div className="columns">
      <Panel
        heading="Balances"
        read={balances}
        tools={
          client.may('write:all') && (
            <button type="button" className="button" onClick={() => setGranting(true)}>
              Grant in a currency
            </button>
          )
        }
      >
        {({ data }) =>
          sources.data === undefined ? (
            sources.error !== null && <Problem error={sources.error} onAgain={sources.again} />
          ) : data.length === 0 ? (
            <Empty>
              <p>
                <strong>Nothing to count yet.</strong> There is no metric, and nothing was granted in a
                currency.{' '}
                <Link to="start" parameters={{}}>
                  First steps
                </Link>{' '}
                makes a metric.
              </p>
            </Empty>
          ) : (
            <Balances
              accountId={account.id}
              balances={data}
              sources={sources.data}
              chosen={source?.id}
              onChoose={(id) => change({ source: id })}
            />
          )
        }
      </Panel>
      {isGranting && (
        <NewGrantDialog accountId={account.id} source={undefined} onClose={() => setGranting(false)} />
      )}
      {source !== undefined && (
        // Keyed by the source, so that no number of another source is seen under its name.
        <OfSource key={source.id} account={account} source={source} />
      )}
    </div>
  )
}

function OfSource({ account, source }: { account: Schema<'Account'>; source: Source }) {
  return (
    <>
      <ByDay accountId={account.id} source={source} />
      <GrantsPanel account={account} source={source} />
      {source.isMetric && <RefillPanel accountId={account.id} source={source} />}
    </>
  )
}
