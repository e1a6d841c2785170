import { createContext, use } from 'react'
import type { ApiRequest } from '../format/curl.ts'
import type { Permission, Schema } from './contract.ts'

/** What pages need to ask Tally in the name of a company. */
export interface Client {
  /** The company and its key, as Tally last described them. */
  caller: Schema<'Caller'>
  /** The address of Tally, for requests that are shown. */
  origin: string
  may(permission: Permission): boolean
  /** Puts the key itself into a command that names it as a variable, for the clipboard alone. */
  withKey(command: string): string
  /** @throws CallError, see call.ts */
  call(request: ApiRequest, signal?: AbortSignal): Promise<unknown>
}

export const ClientContext = createContext<Client | undefined>(undefined)

/** The client of the company that is signed in. Only pages below the sign-in may use it. */
export function useClient(): Client {
  const client = use(ClientContext)
  if (client === undefined) throw new Error('no company is signed in here')
  return client
}
