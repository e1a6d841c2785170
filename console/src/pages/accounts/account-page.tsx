import '../pages.css'
import { useState } from 'react'
import { CallError } from '../../api/call.ts'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountReading, customerReading } from '../../api/queries/accounts.ts'
import { accountBalancesReading } from '../../api/queries/balances.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip, Fact, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'
import { type Source, sourceIdOf, type Sources, useSources } from '../../parts/sources.ts'
import { Text } from '../../parts/text.tsx'
import { TrailLink } from '../../parts/trail-link.tsx'
import { Balances, isInUse } from './balances.tsx'
import { ByDay } from './by-day.tsx'
import { GrantsPanel } from './grants-panel.tsx'
import { NewGrantDialog } from './new-grant-dialog.tsx'
import { RefillPanel } from './refill-panel.tsx'

/** An account: its balances, and for one source its usage by day, its grants and its refills. */
export function AccountPage({ parameters: { accountId } }: { parameters: { accountId: string } }) {
  const client = useClient()
  const account = useRead(accountReading(client, accountId))
  const crumbs = (
    <Link to="accounts" parameters={{}}>
      Accounts
    </Link>
  )
  return (
    <>
      <PageHead heading={account.data?.name ?? 'Account'} crumbs={crumbs}>
        {account.data !== undefined && <Facts account={account.data} />}
      </PageHead>
      {account.error !== null &&
        (isMissing(account.error) ? (
          <Empty>
            <p>
              There is no account with the id <Id value={accountId} /> in this company.
            </p>
          </Empty>
        ) : (
          <Problem error={account.error} onAgain={account.again} />
        ))}
      {account.data !== undefined && <AccountBalance account={account.data} />}
    </>
  )
}

const NOT_FOUND = 404
const isMissing = (error: Error): boolean => error instanceof CallError && error.status === NOT_FOUND

function Facts({ account }: { account: Schema<'Account'> }) {
  const { id, external_id: externalId, service_customer_id: customerId, archived_at: archivedAt } = account
  return (
    <>
      {archivedAt !== null && (
        <Fact name="">
          <Chip tone="warn">archived</Chip> <Instant at={archivedAt} />
        </Fact>
      )}
      {externalId !== undefined && (
        <Fact name="external id">
          <Id value={externalId} />
        </Fact>
      )}
      {customerId !== undefined && <Customer id={customerId} />}
      <Fact name="id">
        <Id value={id} />
      </Fact>
      <Fact name="created">
        <Instant at={account.created_at} />
      </Fact>
      <TrailLink resourceId={id} />
      {account.description !== undefined && account.description !== '' && (
        <Fact name="description">
          <Text>{account.description}</Text>
        </Fact>
      )}
    </>
  )
}

function Customer({ id }: { id: string }) {
  const { data } = useRead(customerReading(useClient(), id))
  return <Fact name="customer">{data === undefined ? <Id value={id} /> : <Text>{data.name}</Text>}</Fact>
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

/** The source of the address, or the first one that has grants or usage, or the first one. */
function chosenSource(
  sources: Sources | undefined,
  balances: Schema<'Balances'> | undefined,
  id: string | undefined,
): Source | undefined {
  if (sources === undefined || balances === undefined) return undefined
  if (id !== undefined) return sources.find(id)
  const first = balances.data.find(isInUse) ?? balances.data[0]
  return first === undefined ? undefined : sources.find(sourceIdOf(first))
}
