import '../pages.css'
import type { ReactNode } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountReading, customerReading } from '../../api/queries/accounts.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useUrlQuery } from '../../app/url.ts'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip, Fact, PageHead } from '../../parts/page.tsx'
import { Name, Text } from '../../parts/text.tsx'
import { TrailLink } from '../../parts/trail-link.tsx'
import { Unread } from '../../parts/unread.tsx'

const TABS = [
  { route: 'account', label: 'Balance' },
  { route: 'account-usage', label: 'Usage' },
  { route: 'account-events', label: 'Events' },
  { route: 'account-billing', label: 'Billing' },
  { route: 'account-about', label: 'About' },
] as const

interface AccountFrameProps {
  accountId: string
  /** The tab that is shown. */
  tab: (typeof TABS)[number]['route']
  children: (account: Schema<'Account'>) => ReactNode
}

/** What all tabs of an account have: its name, facts about it, and the links to the other tabs. */
export function AccountFrame({ accountId, tab, children }: AccountFrameProps) {
  const { data: account, error, again } = useRead(accountReading(useClient(), accountId))
  const crumbs = (
    <Link to="accounts" parameters={{}}>
      Accounts
    </Link>
  )
  const name = account?.name ?? 'Account'
  return (
    <>
      <PageHead
        heading={name}
        part={tab === 'account' ? undefined : TABS.find(({ route }) => route === tab)?.label}
        crumbs={crumbs}
      >
        {account !== undefined && <Facts account={account} />}
      </PageHead>
      <Unread read={{ error, again }} kind="account" id={accountId} />
      {account !== undefined && (
        <>
          <Tabs accountId={accountId} tab={tab} />
          {children(account)}
        </>
      )}
    </>
  )
}

/** The range and the source stay when the tab changes. */
function Tabs({ accountId, tab }: Pick<AccountFrameProps, 'accountId' | 'tab'>) {
  const [{ source, from, to }] = useUrlQuery()
  return (
    <nav className="tabs" aria-label="Of this account">
      {TABS.map(({ route, label }) => (
        <Link
          key={route}
          to={route}
          parameters={{ accountId }}
          query={{ source, from, to }}
          className="tabs__tab"
          isCurrent={route === tab}
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}

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
      {customerId !== undefined && (
        <Fact name="customer">
          <CustomerName id={customerId} />
        </Fact>
      )}
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

/** The way to a customer by its name, or its id while the name is not known. */
export function CustomerName({ id }: { id: string }) {
  const { data } = useRead(customerReading(useClient(), id))
  if (data === undefined) return <Id value={id} />
  return (
    <Link to="customer" parameters={{ customerId: id }}>
      <Name>{data.name}</Name>
    </Link>
  )
}
