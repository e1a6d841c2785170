import { useClient } from '../api/client.ts'
import { callerReading } from '../api/queries/caller.ts'
import { useRead } from '../api/use-read.ts'

/** The company's time in Unix seconds. For a test company it is the time of its clock. Pages use no other time. */
export function useNow(): number {
  const client = useClient()
  return (useRead(callerReading(client)).data ?? client.caller).now
}

/** A clock that is this close to real time was not moved. */
export const CLOSE_S = 60

/** Whether the clock of the company shows another time than real time. Times of acceptance are always real. */
export function useIsClockMoved(): boolean {
  const client = useClient()
  const { now, real_now: realNow } = useRead(callerReading(client)).data ?? client.caller
  return Math.abs(now - realNow) >= CLOSE_S
}
