import { useClient } from '../api/client.ts'
import { callerReading } from '../api/queries/caller.ts'
import { useRead } from '../api/use-read.ts'

/** The company's time in Unix seconds. For a test company it is the time of its clock. Pages use no other time. */
export function useNow(): number {
  const client = useClient()
  return (useRead(callerReading(client)).data ?? client.caller).now
}
