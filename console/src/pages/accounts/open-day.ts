import { useLocation } from 'wouter'
import { expectArrival } from '../../app/arrivals.ts'
import { pathOf } from '../../app/routes.ts'
import { utcDay } from '../../format/time.ts'

/** Opens the events of an account on a UTC day of a plot. */
export function useOpenDay(accountId: string, sourceId: string): (row: { startAt: number }) => void {
  const [, navigate] = useLocation()
  return ({ startAt }) => {
    const day = utcDay(startAt)
    expectArrival()
    navigate(pathOf('account-events', { accountId }, { source: sourceId, from: day, to: day }))
  }
}
