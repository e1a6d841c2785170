import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { dailyUsageReading, usageBeforeReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import { useNow } from '../../app/now.ts'
import { fillPlaces } from '../../format/decimal.ts'
import { daysLeft } from '../../format/fraction.ts'
import { type MeanDays, meanDays } from '../../format/mean-days.ts'
import { DAY_S, startOfDay } from '../../format/time.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Decimal } from '../../parts/decimal.tsx'
import { type Source, sourceIdOf, type Sources } from '../../parts/sources.ts'
import { isInUse } from './chosen-source.ts'

type Balance = Schema<'Balance'>

interface BalancesProps {
  accountId: string
  balances: readonly Balance[]
  sources: Sources
  chosen: string | undefined
  onChoose: (id: string) => void
}

/** The balances of an account. Those without grants and usage are folded. A click on one shows its details below. */
export function Balances({ accountId, balances, ...rest }: BalancesProps) {
  const used = useLastDays(accountId)
  const first = balances.filter((balance) => isInUse(balance) || sourceIdOf(balance) === rest.chosen)
  const others = balances.filter((balance) => !first.includes(balance))
  const cards = (some: readonly Balance[]) => (
    <div className="balances">
      {some.map((balance) => (
        <Card key={sourceIdOf(balance)} balance={balance} used={used?.(sourceIdOf(balance))} {...rest} />
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

/** The last whole days over which the mean of a source is taken. @returns undefined until they are read */
function useLastDays(accountId: string): ((sourceId: string) => MeanDays) | undefined {
  const client = useClient()
  const endAt = startOfDay(useNow())
  const startAt = endAt - DAYS * DAY_S
  const { data: last } = useRead(dailyUsageReading(client, accountId, { start_at: startAt, end_at: endAt }))
  const { data: before } = useRead(usageBeforeReading(client, accountId, startAt))
  if (last === undefined || before === undefined) return undefined
  const usedBefore = new Set(before.events_consumed.map(sourceIdOf))
  return (sourceId) =>
    meanDays(
      last.data.map(({ period_start_at: day, data: lines }) => ({
        startAt: day,
        quantity: lines.find((line) => sourceIdOf(line) === sourceId)?.quantity ?? '0',
      })),
      usedBefore.has(sourceId),
    )
}

interface CardProps extends Omit<BalancesProps, 'accountId' | 'balances'> {
  balance: Balance
  used: MeanDays | undefined
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

function Lasts({ balance, used }: { balance: string; used: MeanDays | undefined }) {
  const days = used === undefined ? undefined : daysLeft(balance, used.used, used.days)
  if (used === undefined || days === undefined) return null
  const whole = used.days === 1 ? 'whole day' : `${used.days} whole days`
  return (
    <span className="balance__how">
      lasts about {days} {days === '1' ? 'day' : 'days'}, at the mean of the{' '}
      {used.isSinceFirst ? `${whole} since its first usage` : `last ${whole}`}, without refills and ends of
      grants
    </span>
  )
}
