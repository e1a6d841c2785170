import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { dailyUsageReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import { useNow } from '../../app/now.ts'
import { fillPlaces, isZero, sumDecimals } from '../../format/decimal.ts'
import { daysLeft } from '../../format/fraction.ts'
import { DAY_S, startOfDay } from '../../format/time.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Decimal } from '../../parts/decimal.tsx'
import { type Source, sourceIdOf, type Sources } from '../../parts/sources.ts'

type Balance = Schema<'Balance'>

interface BalancesProps {
  accountId: string
  balances: readonly Balance[]
  sources: Sources
  chosen: string | undefined
  onChoose: (id: string) => void
}

/** Whether there ever was a grant or usage. */
export const isInUse = ({ grant_total: granted, usage_total: used }: Balance): boolean =>
  !isZero(granted) || !isZero(used)

/** The balances of an account. Those without grants and usage are folded. A click on one shows its details below. */
export function Balances({ accountId, balances, ...rest }: BalancesProps) {
  const used = useLastDays(accountId)
  const first = balances.filter((balance) => isInUse(balance) || sourceIdOf(balance) === rest.chosen)
  const others = balances.filter((balance) => !first.includes(balance))
  const cards = (some: readonly Balance[]) => (
    <div className="balances">
      {some.map((balance) => (
        <Card key={sourceIdOf(balance)} balance={balance} used={used?.get(sourceIdOf(balance))} {...rest} />
      ))}
    </div>
  )
  if (first.length === 0) return cards(others)
  return (
    <>
      {cards(first)}
      {others.length > 0 && (
        <details className="balances__rest">
          <summary>{others.length} more without grants and usage</summary>
          {cards(others)}
        </details>
      )}
    </>
  )
}

/** Over so many days the mean is taken that says how long a balance lasts. */
const DAYS = 7

/** The usage of the last whole days, by source. */
function useLastDays(accountId: string): Map<string, string> | undefined {
  const endAt = startOfDay(useNow())
  const { data } = useRead(
    dailyUsageReading(useClient(), accountId, { start_at: endAt - DAYS * DAY_S, end_at: endAt }),
  )
  if (data === undefined) return undefined
  const sums = new Map<string, string>()
  for (const { data: lines } of data.data)
    for (const line of lines)
      sums.set(sourceIdOf(line), sumDecimals([sums.get(sourceIdOf(line)) ?? '0', line.quantity]))
  return sums
}

interface CardProps extends Omit<BalancesProps, 'accountId' | 'balances'> {
  balance: Balance
  used: string | undefined
}

function Card({ balance, used, sources, chosen, onChoose }: CardProps) {
  const id = sourceIdOf(balance)
  const source: Source = sources.find(id)
  return (
    <button type="button" className="balance" aria-pressed={id === chosen} onClick={() => onChoose(id)}>
      <span className="balance__name">
        <bdi>{source.label}</bdi>
      </span>
      <span className="balance__value">
        <AmountOf value={balance.balance} source={source} />
      </span>
      <span className="balance__how">
        granted <Decimal value={fillPlaces(balance.grant_total, source.places)} /> − used{' '}
        <Decimal value={fillPlaces(balance.usage_total, source.places)} />
      </span>
      <Lasts balance={balance.balance} used={used} />
    </button>
  )
}

function Lasts({ balance, used }: { balance: string; used: string | undefined }) {
  const days = used === undefined ? undefined : daysLeft(balance, used, DAYS)
  if (days === undefined) return null
  return (
    <span className="balance__how">
      lasts about {days} {days === '1' ? 'day' : 'days'}, at the mean of the last {DAYS} whole days, without
      refills and ends of grants
    </span>
  )
}
